// SPDX-License-Identifier: Apache-2.0
// Replicas have copies of the variables, and each works on other samples. An update changes all copies alike, because
// it is made of sums over the replicas; a variable that takes a value of a micro-batch would become another one on each
// replica, and only one of them would be kept.
#include <fmt/format.h>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

namespace {

bool differs_by_sample(const Node& node) { return is_role(node, Role::input) || is_role(node, Role::counter); }
bool is_fed(const Node& node) { return is_role(node, Role::input); }
bool is_sum(const Node& node) { return node.op->id == Op::update_sum; }

}  // namespace

void check_replicas(const Graph& step, int replicas) {
  if (replicas == 1) return;
  const bool has_update = trains(step);
  // The counter of an update is the same on all replicas.
  const std::vector<bool> differs = nodes_depending_on(step, has_update ? is_fed : differs_by_sample);
  const std::vector<bool> is_update = nodes_depending_on(step, is_sum);
  for (const Assignment& assignment : step.assignments()) {
    const auto value = static_cast<std::size_t>(assignment.value.node);
    if (!differs[value] || is_update[value]) continue;
    if (has_update && step.nodes()[value].op->id == Op::replica_mean) continue;
    const char* remedy = has_update
                             ? "; assign a floating-point variable the replica_mean of the value, or use one replica"
                             : ", which are averaged by updates only; use one replica, or train";
    throw Error(
        fmt::format("the variable '{}' takes a value of each micro-batch and would differ between {} replicas{}",
                    step.node(assignment.variable).attributes.text("name"), replicas, remedy));
  }
}

}  // namespace pando
