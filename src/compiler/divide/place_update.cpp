// SPDX-License-Identifier: Apache-2.0
// A stage updates its own variables from its own sums. If an update reads a value of another stage, such as a norm over
// all gradients, that value is part of one exchange between the stages of a replica just before their updates.
#include <algorithm>
#include <set>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"

namespace pando {

namespace {

class UpdatePlacer {
 public:
  UpdatePlacer(const Graph& update, int stages) : update_(update), stages_(stages) {}

  std::vector<UpdateParts> place() {
    for (int stage = 0; stage < stages_; ++stage) {
      std::set<ValueId> seen;
      for (const Assignment& assignment : update_.assignments())
        if (stage_of(assignment) == stage) find_foreign(assignment.value, stage, seen);
    }
    check_one_exchange();
    std::vector<UpdateParts> parts;
    for (int stage = 0; stage < stages_; ++stage) parts.push_back(part_of(stage));
    return parts;
  }

 private:
  // What is only read is in the memory of every stage. A variable that is assigned belongs to the stage that does so:
  // it changes while others make their updates.
  std::int32_t owner_of(ValueId id) const {
    const Node& node = update_.node(id);
    for (const Assignment& assignment : update_.assignments())
      if (assignment.variable == id) return stage_of(assignment);
    return is_source(node) && !is_sum(node) ? any_stage : node.stage;
  }
  bool is_own(ValueId id, int stage) const {
    const std::int32_t owner = owner_of(id);
    return stages_ == 1 || owner == any_stage || owner == stage;
  }

  // The last stage makes an update that no other stage claims.
  int stage_of(const Assignment& assignment) const {
    if (stages_ == 1) return 0;
    for (ValueId id : {assignment.value, assignment.variable})
      if (const std::int32_t stage = update_.node(id).stage; stage != any_stage) return stage;
    return stages_ - 1;
  }

  static bool is_sum(const Node& node) {
    return is_role(node, Role::variable) && variable_role_named(node.attributes.text("role")) == VariableRole::sum;
  }

  // Values of other stages that a value of the stage is made of.
  void find_foreign(ValueId id, int stage, std::set<ValueId>& seen) {
    if (!seen.insert(id).second) return;
    if (!is_own(id, stage)) {
      exchanged_.insert(id);
      return;
    }
    for (ValueId input : update_.node(id).inputs) find_foreign(input, stage, seen);
  }

  // An exchanged value is made from values of its own stage.
  void check_one_exchange() {
    const std::set<ValueId> exchanged = exchanged_;
    for (ValueId id : exchanged) {
      std::set<ValueId> seen;
      find_foreign(id, owner_of(id), seen);
    }
    if (exchanged != exchanged_) throw InternalError("an update would need values of other stages twice");
  }

  UpdateParts part_of(int stage) const {
    UpdateParts parts;
    GraphPart values(update_, parts.values), update(update_, parts.update);
    std::int32_t number = 0;
    for (ValueId id : exchanged_) {
      if (is_own(id, stage)) values.add_port(id, PortKind::exchange, number);
      else update.cut(id, PortKind::exchange, number);
      ++number;
    }
    for (const Assignment& assignment : update_.assignments())
      if (stage_of(assignment) == stage) update.assign(assignment);
    for (const Graph* part : {&parts.values, &parts.update})
      for (const Node& node : part->nodes())
        if (is_sum(node)) parts.sums.push_back(static_cast<std::int32_t>(node.attributes.integer("number")));
    std::sort(parts.sums.begin(), parts.sums.end());
    parts.sums.erase(std::unique(parts.sums.begin(), parts.sums.end()), parts.sums.end());
    return parts;
  }

  const Graph& update_;
  const int stages_;
  // In an order that all stages agree on.
  std::set<ValueId> exchanged_;
};

}  // namespace

std::vector<UpdateParts> place_update(const Graph& update, int stages) { return UpdatePlacer(update, stages).place(); }

}  // namespace pando
