// SPDX-License-Identifier: Apache-2.0
// An explanation as JSON: a line for each member, so that the text can be read and compared by lines as well.
#include "io/json_writer.h"
#include "report/explain/explain.h"
#include "report/pictures/drawing.h"

namespace pando {

namespace {

// Enough digits for every count, and few enough to hide how a quotient was rounded.
constexpr int digits = 10;

void write_rounded(JsonWriter& json, std::string_view name, double value) {
  json.name(name);
  json.rounded(value, digits);
}

void write_text(JsonWriter& json, std::string_view name, std::string_view text) {
  json.member(name, plot::readable_text(text));
}

std::vector<std::string> readable(std::vector<std::string> texts) {
  for (std::string& text : texts) text = plot::readable_text(text);
  return texts;
}

template <class List>
void write_list(JsonWriter& json, std::string_view name, const List& values) {
  json.name(name);
  json.begin_list();
  for (const auto& value : values) json.value(value);
  json.end_list();
}

void write_memory(JsonWriter& json, const MemoryUse& memory) {
  json.begin_object();
  json.member("weights", memory.weights);
  json.member("optimizer", memory.optimizer);
  json.member("gradients", memory.gradients);
  json.member("activations", memory.activations);
  json.member("stash", memory.stash);
  json.member("feeds", memory.feeds);
  json.member("total", memory.total());
  json.end_object();
}

void write_stages(JsonWriter& json, const std::vector<ExplainedStage>& stages, double megaflops) {
  json.begin_list();
  for (const ExplainedStage& stage : stages) {
    if (&stage != &stages.front()) json.new_line(4);
    json.begin_object();
    write_text(json, "layers", stage.layers);
    write_rounded(json, "megaflops", stage.megaflops);
    write_rounded(json, "share", megaflops > 0 ? stage.megaflops / megaflops : 0.0);
    json.name("memory");
    write_memory(json, stage.memory);
    json.member("tiles", stage.tiles);
    json.end_object();
  }
  json.end_list();
}

void write_schedule(JsonWriter& json, const PipelineSchedule& schedule, const ExplainedCounts& counts) {
  std::vector<std::int64_t> stash;
  for (int i = 0; i < schedule.stages(); ++i) stash.push_back(schedule.stash_depth(i));
  json.begin_object();
  write_text(json, "name", schedule.name);
  json.member("period", schedule.period);
  write_list(json, "forward", schedule.forward);
  write_list(json, "backward", schedule.backward);
  write_list(json, "stash_depth", stash);
  json.member("micro_batches", counts.micro_batches);
  json.member("slots", schedule.slots(counts.micro_batches));
  write_rounded(json, "bubble", counts.bubble);
  json.end_object();
}

void write_scaling(JsonWriter& json, const Scaling& scaling) {
  json.begin_object();
  json.member("sum_bytes", scaling.sum_bytes);
  write_text(json, "compute_source", scaling.compute_source);
  write_text(json, "network_source", scaling.network_source);
  json.name("updates");
  json.begin_list();
  for (const PredictedUpdate& update : scaling.updates) {
    json.new_line(4);
    json.begin_object();
    json.member("workers", update.workers);
    write_rounded(json, "compute", update.compute);
    write_rounded(json, "sums", update.sums);
    write_rounded(json, "waiting", update.waiting);
    write_rounded(json, "agreement", update.agreement);
    write_rounded(json, "seconds", update.total());
    write_rounded(json, "efficiency", scaling.efficiency(update));
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

}  // namespace

std::string to_json(const Explanation& explanation) {
  const ExplainedCounts counts = counts_of(explanation);
  std::string text;
  JsonWriter json(text);
  const auto line = [&]() -> JsonWriter& {
    json.new_line(2);
    return json;
  };
  const auto rate = [&](std::string_view name, std::int64_t factor) {
    if (explanation.learning_rate)
      return write_rounded(line(), name, *explanation.learning_rate * static_cast<double>(factor));
    line().name(name);
    json.null();
  };
  json.begin_object();
  write_text(line(), "model", explanation.model);
  line().member("training", explanation.training);
  line().member("samples", explanation.samples);
  line().member("batch_size", explanation.batch_size);
  line().member("ipus", explanation.ipus);
  line().member("idle_ipus", counts.idle_ipus);
  line().member("replicas", explanation.replicas);
  write_list(line(), "device_mapping", explanation.device_mapping);
  write_text(line(), "backend", explanation.backend);
  line().member("cores", explanation.cores);
  line().member("tiles_per_ipu", explanation.tiles_per_ipu);
  line().member("gradient_accumulation", explanation.gradient_accumulation);
  write_text(line(), "reduction", explanation.reduction);
  write_text(line(), "optimizer", explanation.optimizer);
  rate("learning_rate", 1);
  rate("effective_learning_rate", counts.learning_rate_factor);
  line().member("steps_per_execution", explanation.steps_per_execution);
  line().member("effective_batch", counts.effective_batch);
  line().member("batches_per_update", counts.batches_per_update);
  line().member("updates_per_execution", counts.updates_per_execution);
  line().member("batches", counts.batches);
  line().member("updates", counts.updates);
  line().member("executions", counts.executions);
  line().member("samples_in_last_batch", counts.samples_in_last_batch);
  line().member("batches_in_last_update", counts.batches_in_last_update);
  line().member("empty_batches", counts.empty_batches);
  line().member("updates_in_last_execution", counts.updates_in_last_execution);
  write_rounded(line(), "megaflops", counts.megaflops);
  line().member("memory", counts.memory);
  line().name("stages");
  write_stages(json, explanation.stages, counts.megaflops);
  line().name("schedule");
  if (explanation.stages.size() > 1) write_schedule(json, explanation.schedule, counts);
  else json.null();
  line().name("scaling");
  if (explanation.scaling) write_scaling(json, *explanation.scaling);
  else json.null();
  write_list(line(), "hints", readable(hints(explanation)));
  json.new_line();
  json.end_object();
  text += '\n';
  return text;
}

}  // namespace pando
