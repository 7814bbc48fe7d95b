// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/run_subject.h"

#include "frontends/keras/files/model_json.h"
#include "io/fingerprint.h"

namespace pando::keras {

namespace {

std::string fingerprint_of(const Samples& samples) {
  const Arrays sources = samples.batches->sources();
  if (sources.empty()) return "";
  Fingerprint sum;
  for (const Array& array : sources) {
    const std::string type = fmt::format("{}{};", name(array.dtype()), to_string(array.shape()));
    sum.add(std::as_bytes(std::span(type)));
    sum.add({array.raw(), array.bytes()});
  }
  return sum.digits();
}

std::string columns_text(const Samples& samples) {
  std::vector<std::string> texts;
  for (const Type& type : samples.columns) texts.push_back(to_string(type));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// Includes the layers of inner models.
void add_layers(std::vector<RunLayer>& layers, const Json& entry) {
  const Json& config = *entry.find("config");
  if (const Json* inner = config.find("layers")) {
    for (const Json& layer : inner->list("layers")) add_layers(layers, layer);
    return;
  }
  RunLayer layer{config.find("name")->string("name"), entry.find("class_name")->string("class_name"), Json::Object()};
  for (const auto& [name, value] : config.object("config"))
    if (name != "name") layer.config.set(name, value);
  layers.push_back(std::move(layer));
}

std::vector<RunLayer> layers_of(const Model& model) {
  std::vector<RunLayer> layers;
  try {
    add_layers(layers, model_json(model));
  } catch (const Error&) {
    layers.clear();
  }
  return layers;
}

void compare_layers(std::vector<std::string>& found, const std::vector<RunLayer>& there,
                    const std::vector<RunLayer>& here) {
  if (there.empty() || here.empty()) return;
  if (there.size() != here.size()) {
    // The differences found so far explain it.
    if (found.empty())
      found.push_back(fmt::format("the model has {} layers there but {} here", there.size(), here.size()));
    return;
  }
  // The first difference is enough: the others often follow from it.
  for (std::size_t i = 0; i < here.size(); ++i) {
    const RunLayer &a = there[i], &b = here[i];
    if (a.kind != b.kind) {
      found.push_back(fmt::format("the layer '{}' is a {} there but a {} here", b.name, a.kind, b.kind));
      return;
    }
    for (const auto& [name, value] : b.config.object("config"))
      if (const Json* old = a.config.find(name); old == nullptr || *old != value) {
        found.push_back(fmt::format("{} of the layer '{}' is {} there but {} here", name, b.name,
                                    old != nullptr ? old->text() : "not said", value.text()));
        return;
      }
  }
}

}  // namespace

RunSubject subject_of(const Model& model, const std::vector<OutputGoals>& goals, const Samples& samples,
                      const Samples* validation, const std::map<std::int64_t, double>& class_weight) {
  RunSubject subject{.batch_size = samples.batch_size,
                     .steps = samples.steps,
                     .samples = samples.count,
                     .columns = columns_text(samples),
                     .values = fingerprint_of(samples),
                     .validation_values = validation != nullptr ? fingerprint_of(*validation) : "",
                     .layers = layers_of(model),
                     .losses = {},
                     .class_weight = {}};
  for (const OutputGoals& goal : goals)
    subject.losses.push_back(!goal.loss ? "none" : goal.loss->name() + (goal.loss->is_sum() ? " as a sum" : ""));
  for (const auto& [label, weight] : class_weight)
    subject.class_weight += fmt::format("{}{}: {}", subject.class_weight.empty() ? "" : ", ", label, weight);
  return subject;
}

Json to_json(const RunSubject& subject) {
  Json::List layers, losses;
  for (const RunLayer& layer : subject.layers)
    layers.push_back(Json::Object{{"name", layer.name}, {"class_name", layer.kind}, {"config", layer.config}});
  for (const std::string& loss : subject.losses) losses.emplace_back(loss);
  return Json::Object{{"batch_size", subject.batch_size},
                      {"steps", subject.steps},
                      {"samples", subject.samples},
                      {"columns", subject.columns},
                      {"values", subject.values},
                      {"validation_values", subject.validation_values},
                      {"layers", std::move(layers)},
                      {"losses", std::move(losses)},
                      {"class_weight", subject.class_weight}};
}

RunSubject subject_of(const JsonFields& fields) {
  RunSubject subject{.batch_size = fields.integer("batch_size", 1),
                     .steps = fields.integer("steps", -1),
                     .samples = fields.integer("samples", -1),
                     .columns = fields.string("columns"),
                     .values = fields.string("values"),
                     .validation_values = fields.string("validation_values"),
                     .layers = {},
                     .losses = {},
                     .class_weight = fields.string("class_weight")};
  for (const Json& entry : fields.list("layers")) {
    const JsonFields layer(entry, fields.what("layers."));
    layer.at("config").object(layer.what("config"));
    subject.layers.push_back({layer.string("name"), layer.string("class_name"), layer.at("config")});
  }
  for (const Json& loss : fields.list("losses")) subject.losses.push_back(loss.string(fields.what("losses")));
  return subject;
}

void compare(std::vector<std::string>& found, const RunSubject& there, const RunSubject& here) {
  const auto check = [&](const char* what, const auto& a, const auto& b) {
    if (a != b) found.push_back(fmt::format("{} is {} there but {} here", what, a, b));
  };
  compare_layers(found, there.layers, here.layers);
  check("the loss", fmt::format("{}", fmt::join(there.losses, ", ")), fmt::format("{}", fmt::join(here.losses, ", ")));
  check("class_weight", "{" + there.class_weight + "}", "{" + here.class_weight + "}");
  const std::size_t sizes = found.size();
  check("batch_size", there.batch_size, here.batch_size);
  check("the number of batches of an epoch", there.steps, here.steps);
  check("the number of samples", there.samples, here.samples);
  check("a sample", there.columns, here.columns);
  // Data of other sizes have other values anyway.
  if (found.size() == sizes && there.values != here.values)
    found.push_back(fmt::format("the data have other values (their fingerprints are '{}' there and '{}' here)",
                                there.values, here.values));
  // Validation may be left out or added.
  if (!there.validation_values.empty() && !here.validation_values.empty() &&
      there.validation_values != here.validation_values)
    found.push_back("the validation data have other values");
}

}  // namespace pando::keras
