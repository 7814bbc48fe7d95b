// SPDX-License-Identifier: Apache-2.0
// Everything that depends on an update_sum belongs to the update, which runs once after all micro-batches; everything
// else runs for each micro-batch. Between the two stand the sums, as outputs of one part and variables of the other.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

namespace {

class UpdateSplitter {
 public:
  explicit UpdateSplitter(const Graph& step)
      : step_(step),
        is_update_(nodes_depending_on(step, [](const Node& node) { return node.op->id == Op::update_sum; })),
        is_fed_(nodes_depending_on(step, [](const Node& node) { return is_role(node, Role::input); })) {}

  StepHalves split() {
    check_outputs();
    check_update();
    StepHalves halves;
    GraphPart micro_batch(step_, halves.micro_batch), update(step_, halves.update);
    for (const Output& output : step_.outputs()) micro_batch.add_output(output);
    std::int32_t number = 0;
    for (std::size_t i = 0; i < step_.nodes().size(); ++i) {
      const Node& node = step_.nodes()[i];
      if (node.op->id != Op::update_sum) continue;
      micro_batch.add_port(node.inputs[0], PortKind::sum, number);
      const Graph::StageScope stage(halves.update, node.stage);
      update.replace({static_cast<std::int32_t>(i), 0},
                     ops::variable(halves.update, sum_name(number), node.outputs[0].dtype, node.outputs[0].shape,
                                   VariableRole::sum, number));
      ++number;
    }
    for (const Assignment& assignment : step_.assignments())
      (belongs_to_update(assignment) ? update : micro_batch).assign(assignment);
    return halves;
  }

 private:
  bool is_update(ValueId id) const { return is_update_[static_cast<std::size_t>(id.node)]; }
  bool is_fed(ValueId id) const { return is_fed_[static_cast<std::size_t>(id.node)]; }
  bool belongs_to_update(const Assignment& assignment) const {
    return is_update(assignment.value) || !is_fed(assignment.value);
  }

  void check_outputs() const {
    for (const Output& output : step_.outputs())
      if (is_update(output.value))
        throw Error(
            fmt::format("the output '{}' depends on the update, which is made once for several micro-batches; "
                        "return what each micro-batch computes",
                        output.name));
  }

  void check_update() const {
    for (std::size_t i = 0; i < step_.nodes().size(); ++i) {
      const Node& node = step_.nodes()[i];
      if (!is_update_[i] || node.op->id == Op::update_sum) continue;
      for (ValueId input : node.inputs)
        if (!is_update(input) && is_fed(input))
          throw Error(fmt::format(
              "the update uses '{}', which each micro-batch computes anew; use its update_sum",
              step_.node(input).name.empty() ? std::string(step_.node(input).op->name) : step_.node(input).name));
    }
  }

  const Graph& step_;
  const std::vector<bool> is_update_, is_fed_;
};

}  // namespace

StepHalves split_update(const Graph& step) { return UpdateSplitter(step).split(); }

}  // namespace pando
