// SPDX-License-Identifier: Apache-2.0
// A node belongs to the backward pass if it depends on a gradient from the next stage. Results of the forward pass that
// it needs, of the same micro-batch, are kept in the stash of the stage or computed again.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"

namespace pando {

namespace {

class PassSplitter {
 public:
  PassSplitter(const Graph& stage, bool recomputation)
      : stage_(stage), recomputation_(recomputation), is_backward_(stage.nodes().size(), false) {
    for (std::size_t i = 0; i < stage.nodes().size(); ++i) {
      const Node& node = stage.nodes()[i];
      is_backward_[i] = is_gradient(node) || std::any_of(node.inputs.begin(), node.inputs.end(),
                                                         [&](ValueId input) { return is_backward(input); });
    }
  }

  StagePasses split() {
    StagePasses passes;
    GraphPart forward(stage_, passes.forward), backward(stage_, passes.backward);
    for (const Output& output : stage_.outputs())
      if (!belongs_to_backward(output)) forward.add_output(output);
    for (const Assignment& assignment : stage_.assignments())
      if (!is_backward(assignment.value)) forward.assign(assignment);
    std::int32_t number = 0;
    for (ValueId id : stash()) {
      forward.add_port(id, PortKind::stash, number);
      backward.cut(id, PortKind::stash, number++);
    }
    for (const Output& output : stage_.outputs())
      if (belongs_to_backward(output)) backward.add_output(output);
    for (const Assignment& assignment : stage_.assignments())
      if (is_backward(assignment.value)) backward.assign(assignment);
    return passes;
  }

 private:
  static bool is_gradient(const Node& node) {
    return is_role(node, Role::input) && port_kind_named(node.attributes.text("port")) == PortKind::gradient;
  }
  bool is_backward(ValueId id) const { return is_backward_[static_cast<std::size_t>(id.node)]; }

  bool belongs_to_backward(const Output& output) const {
    if (output.kind == PortKind::activation && is_backward(output.value))
      throw Error(
          fmt::format("a stage of the pipeline needs '{}' of an earlier one, which depends on a later stage; "
                      "stages must follow the order of the layers",
                      stage_.node(output.value).name));
    return output.kind == PortKind::gradient || output.kind == PortKind::sum || is_backward(output.value);
  }

  // What the backward pass needs from the forward pass. A node without a stage is made from sources alone and is
  // computed again.
  std::set<ValueId> stash() const {
    std::set<ValueId> found, seen;
    for (const Output& output : stage_.outputs())
      if (belongs_to_backward(output)) find_stash(output.value, found, seen);
    for (const Assignment& assignment : stage_.assignments())
      if (is_backward(assignment.value)) find_stash(assignment.value, found, seen);
    return found;
  }
  void find_stash(ValueId id, std::set<ValueId>& found, std::set<ValueId>& seen) const {
    if (!seen.insert(id).second) return;
    if (is_stashed(id)) found.insert(id);
    else
      for (ValueId input : stage_.node(id).inputs) find_stash(input, found, seen);
  }
  bool is_stashed(ValueId id) const {
    const Node& node = stage_.node(id);
    if (is_source(node)) return is_assigned_by_forward(id);
    return !recomputation_ && !is_backward(id) && node.stage != any_stage && is_made_by_forward(id);
  }
  // Such a variable has another value by the time of the backward pass.
  bool is_assigned_by_forward(ValueId id) const {
    return std::any_of(stage_.assignments().begin(), stage_.assignments().end(), [&](const Assignment& assignment) {
      return assignment.variable == id && !is_backward(assignment.value);
    });
  }
  // Whether the forward pass computes it anyway.
  bool is_made_by_forward(ValueId id) const {
    if (of_forward_.empty()) {
      of_forward_.resize(stage_.nodes().size(), false);
      for (const Output& output : stage_.outputs())
        if (!belongs_to_backward(output)) mark(output.value);
      for (const Assignment& assignment : stage_.assignments())
        if (!is_backward(assignment.value)) mark(assignment.value);
    }
    return of_forward_[static_cast<std::size_t>(id.node)];
  }
  void mark(ValueId id) const {
    if (of_forward_[static_cast<std::size_t>(id.node)]) return;
    of_forward_[static_cast<std::size_t>(id.node)] = true;
    for (ValueId input : stage_.node(id).inputs) mark(input);
  }

  const Graph& stage_;
  const bool recomputation_;
  std::vector<bool> is_backward_;
  mutable std::vector<bool> of_forward_;
};

}  // namespace

StagePasses split_passes(const Graph& stage, bool recomputation) { return PassSplitter(stage, recomputation).split(); }

}  // namespace pando
