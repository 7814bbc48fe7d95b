// SPDX-License-Identifier: Apache-2.0
#include "model/balance_stages.h"

#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <algorithm>
#include <limits>

#include "model/objective.h"
#include "program/step_kernels.h"

namespace pando {

namespace {

// A byte from memory takes about as long as three operations.
constexpr double operations_per_byte = 3;

// Every optimizer reads and writes each weight; what else it does is small beside the passes.
void add_simple_update(Graph& step, const ForwardPass& forward) {
  std::vector<Value> variables;
  for (const Value& variable : forward.trained) variables.push_back(step.value(variable.id()));
  std::vector<Value> slopes;
  if (forward.slopes)
    for (const Value& slope : *forward.slopes) slopes.push_back(step.value(slope.id()));
  else slopes = gradients(step.value(forward.loss.id()), variables);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Graph::StageScope stage(step, updating_stage(step, variables[i].id()));
    step.assign(variables[i], variables[i] - ops::update_sum(slopes[i]));
  }
}

}  // namespace

std::vector<double> work_of_stages(const Graph& step) {
  std::vector<double> work(static_cast<std::size_t>(step.stages()), 0.0);
  for (const KernelInfo& kernel : kernels_of(step))
    work[static_cast<std::size_t>(kernel.stage)] += kernel.flops + operations_per_byte * kernel.bytes;
  return work;
}

std::vector<double> work_of_parts(const ForwardPass& forward) {
  Graph step = forward.graph;
  for (std::size_t i = 0; i < forward.results.size(); ++i)
    step.add_output("result" + std::to_string(i), step.value(forward.results[i].id()), true);
  if (forward.loss) add_simple_update(step, forward);
  return work_of_stages(step);
}

// best[s][i]: the smallest possible size of the largest stage if the first i parts make s stages; from[s][i] is where
// the last of them begins.
std::vector<int> balance_stages(const std::vector<double>& work, int stages) {
  const std::size_t parts = work.size(), wanted = static_cast<std::size_t>(stages);
  std::vector<double> until = {0.0};
  for (const double amount : work) until.push_back(until.back() + amount);
  const std::vector<double> nothing(parts + 1, std::numeric_limits<double>::infinity());
  std::vector<std::vector<double>> best(wanted + 1, nothing);
  std::vector<std::vector<std::size_t>> from(wanted + 1, std::vector<std::size_t>(parts + 1, 0));
  best[0][0] = 0;
  for (std::size_t s = 1; s <= wanted; ++s)
    for (std::size_t i = s; i <= parts; ++i)
      for (std::size_t begin = s - 1; begin < i; ++begin) {
        const double largest = std::max(best[s - 1][begin], until[i] - until[begin]);
        if (largest < best[s][i]) best[s][i] = largest, from[s][i] = begin;
      }
  std::vector<int> stage_of_part(parts);
  for (std::size_t s = wanted, end = parts; s > 0; end = from[s--][end])
    std::fill(stage_of_part.begin() + static_cast<std::ptrdiff_t>(from[s][end]),
              stage_of_part.begin() + static_cast<std::ptrdiff_t>(end), static_cast<int>(s) - 1);
  return stage_of_part;
}

}  // namespace pando
