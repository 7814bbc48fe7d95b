// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/goals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace pando::keras {

namespace {

template <class Map>
void check_output_names(const Map& by_name, const std::vector<std::string>& known, const char* what) {
  for (const auto& [name, value] : by_name)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(fmt::format("compile: {} for an {}", what, unknown_name("output", name, known)));
}

}  // namespace

std::vector<std::string> output_names(const Network& network) {
  std::vector<std::string> names;
  std::map<std::string, int> repeated;
  for (const Tensor& output : network.outputs) {
    const std::string& layer = output.state().recording->name;
    std::string name = layer;
    while (std::find(names.begin(), names.end(), name) != names.end())
      name = fmt::format("{}_{}", layer, ++repeated[layer]);
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> log_names(const std::vector<OutputGoals>& goals) {
  std::vector<std::string> names = {"loss"}, metrics;
  for (const OutputGoals& goal : goals) {
    const std::string prefix = goals.size() > 1 ? goal.output + "_" : "";
    if (goals.size() > 1 && goal.loss) names.push_back(prefix + "loss");
    for (const Metric& metric : goal.metrics) metrics.push_back(prefix + metric.name());
  }
  names.insert(names.end(), metrics.begin(), metrics.end());
  return names;
}

std::vector<OutputGoals> make_goals(const Network& network, const CompileOptions& options) {
  const std::vector<std::string> names = output_names(network);
  const std::vector<Loss>& losses = options.loss.list();
  if (losses.size() > 1 && losses.size() != names.size())
    throw Error(fmt::format("compile: the model has {} outputs but {} losses were given; give one for each",
                            names.size(), losses.size()));
  if (!options.loss_weights.empty() && options.loss_weights.size() != names.size())
    throw Error(fmt::format("compile: the model has {} outputs but {} loss_weights were given; give one for each",
                            names.size(), options.loss_weights.size()));
  check_output_names(options.loss.by_name(), names, "a loss");
  check_output_names(options.metrics.by_name(), names, "metrics");
  std::vector<OutputGoals> goals;
  for (std::size_t i = 0; i < names.size(); ++i) {
    OutputGoals goal{names[i], {}, 1.0, options.metrics.list()};
    if (!losses.empty()) goal.loss = losses[losses.size() == 1 ? 0 : i];
    if (const auto found = options.loss.by_name().find(names[i]); found != options.loss.by_name().end())
      goal.loss = found->second;
    if (!options.loss_weights.empty()) goal.loss_weight = options.loss_weights[i];
    if (const auto found = options.metrics.by_name().find(names[i]); found != options.metrics.by_name().end())
      goal.metrics = found->second;
    goals.push_back(std::move(goal));
  }
  return goals;
}

}  // namespace pando::keras
