#include "frontends/keras/run/explain_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/cores.h"
#include "frontends/keras/build/optimizer_state.h"
#include "model/explain.h"

namespace pando::keras {

namespace {

std::string layers_of_stage(const Network& network, const ModelDivision& division, int stage) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < network.calls.size(); ++i)
    if (division.stages.of_call[i] == stage && network.calls[i]->function) names.push_back(network.calls[i]->name);
  return layers_text(names);
}

// The layer whose name a kernel's begins with: "conv" for "conv/gradient". A layer's own name may also contain a '/'.
std::map<std::string, double>::iterator find_layer(std::map<std::string, double>& layers, std::string name) {
  while (true) {
    const auto found = layers.find(name);
    const std::size_t end = name.rfind('/');
    if (found != layers.end() || end == std::string::npos) return found;
    name.resize(end);
  }
}

}  // namespace

Explanation explain_model(Model& model, std::int64_t samples, std::int64_t batch_size) {
  Job job(model, "explain", Mode::train);
  job.imagine(batch_size);
  job.divide();
  job.check_accumulation();
  const auto& training = job.training();
  const ModelDivision& division = training.division;
  const Target& target = *training.target;
  const Optimizer::State& optimizer = training.options->optimizer.state();
  Explanation explanation{.model = model.name(),
                          .samples = samples,
                          .batch_size = batch_size,
                          .ipus = target.is_host ? 0 : static_cast<int>(target.ipus.size()),
                          .replicas = division.replicas,
                          .device_mapping = training.parallelism.device_mapping(),
                          .gradient_accumulation = division.accumulation,
                          .reduction = division.reduction == ipu::GradientReduction::Sum ? "sum" : "mean",
                          .optimizer = optimizer.rule.name,
                          .learning_rate = optimizer.learning_rate.schedule()
                                               ? std::nullopt
                                               : std::optional(optimizer.learning_rate.rate()),
                          .steps_grow_with_gradients = optimizer.rule.grows_with_gradients,
                          .steps_per_execution = training.options->steps_per_execution,
                          .cores = usable_cores(),
                          .tiles_per_ipu = target.ipus.front().tiles(),
                          .schedule = schedule_of(division.order, division.stages.stages, true)};
  explanation.stages = explain_stages(job.step().program);
  for (std::size_t stage = 0; stage < explanation.stages.size(); ++stage)
    explanation.stages[stage].layers = layers_of_stage(job.network(), division, static_cast<int>(stage));
  return explanation;
}

std::vector<int> balanced_stages(Model& model, int stages, std::int64_t batch_size) {
  Job job(model, "split_into_stages", Mode::train);
  job.imagine(batch_size);
  const std::vector<KernelInfo> kernels = job.whole_step_kernels();
  // A byte from memory takes about as long as three operations.
  std::map<std::string, double> cost_of_layer;
  for (const auto& call : job.network().calls) cost_of_layer[call->name] = 0;
  for (const KernelInfo& kernel : kernels)
    if (const auto layer = find_layer(cost_of_layer, kernel.name); layer != cost_of_layer.end())
      layer->second += kernel.flops + 3 * kernel.bytes;
  std::vector<double> until = {0.0};
  for (const auto& call : job.network().calls)
    if (call->function) until.push_back(until.back() + cost_of_layer[call->name]);
  const int count = static_cast<int>(until.size()) - 1;
  if (stages < 1 || stages > count)
    throw Error(fmt::format("split_into_stages: {} stages for {} layers; every stage needs a layer", stages, count));
  // best[s][i]: the smallest possible size of the largest stage if the first i layers make s stages; from[s][i] is
  // where the last stage begins.
  const auto table = static_cast<std::size_t>(count + 1);
  std::vector<std::vector<double>> best(static_cast<std::size_t>(stages) + 1, std::vector<double>(table, 1e300));
  std::vector<std::vector<int>> from(static_cast<std::size_t>(stages) + 1, std::vector<int>(table, 0));
  best[0][0] = 0;
  for (std::size_t s = 1; s <= static_cast<std::size_t>(stages); ++s)
    for (std::size_t i = s; i < table; ++i)
      for (std::size_t begin = s - 1; begin < i; ++begin) {
        const double largest = std::max(best[s - 1][begin], until[i] - until[begin]);
        if (largest < best[s][i]) best[s][i] = largest, from[s][i] = static_cast<int>(begin);
      }
  std::vector<int> assignment(static_cast<std::size_t>(count));
  for (int s = stages, end = count; s > 0; --s) {
    const int begin = from[static_cast<std::size_t>(s)][static_cast<std::size_t>(end)];
    std::fill(assignment.begin() + begin, assignment.begin() + end, s - 1);
    end = begin;
  }
  return assignment;
}

}  // namespace pando::keras
