// SPDX-License-Identifier: Apache-2.0
// Each kernel runs in the first superstep after those of its inputs. To overwrite a variable in place, a kernel must
// run after all other readers of the variable. That order is demanded if a schedule still exists then; otherwise the
// new value is copied at the end.
#include "compiler/lower/schedule.h"

#include <algorithm>

#include "graph/op_definition.h"

namespace pando {

namespace {

bool has_kernel(const Node& node) { return is_role(node, Role::compute) && !node.op->is_view; }

// May output `output` of the node be written over what the node reads as `variable`?
bool may_overwrite(const Graph& graph, const Node& node, std::int32_t output, ValueId variable) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (root_of(graph, node.inputs[i]) != variable) continue;
    const bool same_type = graph.type(node.inputs[i]) == node.outputs[static_cast<std::size_t>(output)];
    const bool elementwise = node.op->elementwise && same_type;
    const bool declared = node.op->in_place != nullptr && node.op->in_place(node, output) == static_cast<int>(i);
    if (!elementwise && !declared) return false;
  }
  return true;
}

class Scheduler {
 public:
  Scheduler(const Graph& graph, bool one_by_one)
      : graph_(graph), one_by_one_(one_by_one), before_(graph.nodes().size()) {
    result_.superstep.assign(graph.nodes().size(), -1);
  }

  Schedule run() {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (has_kernel(graph_.nodes()[i])) kernels_.push_back(static_cast<std::int32_t>(i));
    }
    place();
    for (const Assignment& assignment : graph_.assignments()) result_.in_place.push_back(try_in_place(assignment));
    for (std::int32_t step : result_.superstep) result_.supersteps = std::max(result_.supersteps, step + 1);
    return std::move(result_);
  }

 private:
  std::size_t index(ValueId id) const { return static_cast<std::size_t>(id.node); }

  // Levels by a walk in order; `before_` holds readers that must run before a node that overwrites a variable, and
  // these may come after it in the list, so the walk repeats until nothing moves. Returns false if two nodes each have
  // to run before the other.
  bool place() {
    const std::vector<std::int32_t> old = result_.superstep;
    for (std::size_t round = 0; round <= kernels_.size() + 1; ++round) {
      bool moved = false;
      std::int32_t latest = -1;
      for (std::int32_t node : kernels_) {
        std::int32_t level = one_by_one_ ? latest + 1 : 0;
        for (ValueId input : graph_.nodes()[static_cast<std::size_t>(node)].inputs)
          level = std::max(level, result_.superstep[index(root_of(graph_, input))] + 1);
        for (std::int32_t reader : before_[static_cast<std::size_t>(node)])
          level = std::max(level, result_.superstep[static_cast<std::size_t>(reader)] + 1);
        moved = moved || level != result_.superstep[static_cast<std::size_t>(node)];
        result_.superstep[static_cast<std::size_t>(node)] = level;
        latest = std::max(latest, level);
      }
      if (!moved) return true;
    }
    result_.superstep = old;
    return false;
  }

  bool try_in_place(const Assignment& assignment) {
    const Node& node = graph_.node(assignment.value);
    if (!has_kernel(node) || !may_overwrite(graph_, node, assignment.value.output, assignment.variable)) return false;
    for (const Assignment& other : graph_.assignments())
      if (&other < &assignment && other.value == assignment.value) return false;
    for (const Output& output : graph_.outputs())
      if (root_of(graph_, output.value) == assignment.variable) return false;
    for (const Assignment& other : graph_.assignments())
      if (root_of(graph_, other.value) == assignment.variable) return false;

    std::vector<std::int32_t> readers;
    for (std::int32_t reader : kernels_) {
      if (reader == assignment.value.node) continue;
      for (ValueId input : graph_.nodes()[static_cast<std::size_t>(reader)].inputs)
        if (root_of(graph_, input) == assignment.variable) readers.push_back(reader);
    }
    auto& before = before_[index(assignment.value)];
    const std::size_t count = before.size();
    before.insert(before.end(), readers.begin(), readers.end());
    if (place()) return true;
    before.resize(count);
    return false;
  }

  const Graph& graph_;
  bool one_by_one_;
  std::vector<std::int32_t> kernels_;
  std::vector<std::vector<std::int32_t>> before_;
  Schedule result_;
};

}  // namespace

ValueId root_of(const Graph& graph, ValueId id) {
  while (graph.node(id).op->is_view) id = graph.node(id).inputs[0];
  return id;
}

Schedule schedule(const Graph& graph, bool one_by_one) { return Scheduler(graph, one_by_one).run(); }

}  // namespace pando
