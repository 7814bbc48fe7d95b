// SPDX-License-Identifier: Apache-2.0
// Calls the cuts of divide/ one after the other: the update off the micro-batch, each stage off the others, the
// backward pass off the forward pass. Every part is then compiled by itself, and its ports get places in slots that
// neighbours share.
#include "compiler/compile_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"
#include "graph/verify.h"

namespace pando {

namespace {

class StepCompiler {
 public:
  StepCompiler(const Graph& step, const Division& division, const CompileOptions& options, int stages)
      : step_(step), division_(division), options_(options), stages_(stages), trains_(trains(step)) {}

  StepPlan run() {
    verify(step_);
    check_replicas(step_, division_.replicas);
    StepPlan plan{.replicas = division_.replicas,
                  .rows_per_update = trains_ ? division_.accumulation : 1,
                  .batch_size = division_.batch_size,
                  .schedule = schedule_of(division_.order, stages_, false)};
    const bool is_whole = stages_ == 1 && division_.replicas == 1 && plan.rows_per_update == 1;
    if (is_whole || !trains_) compile_passes(plan, remove_spans(step_));
    else {
      plan.schedule = schedule_of(division_.order, stages_, true);
      compile_training(plan);
    }
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) connect(plan, stage);
    return plan;
  }

 private:
  // If an update is one micro-batch, each stage has one program.
  void compile_passes(StepPlan& plan, const Graph& step) {
    if (stages_ == 1) {
      plan.stages.emplace_back().forward = compile(step, options_);
      return;
    }
    for (const Graph& graph : cut_stages(step, std::vector<std::vector<std::int32_t>>(stages()))) {
      check_no_gradient(graph);
      plan.stages.emplace_back().forward = compile(graph, options_);
    }
  }

  void check_no_gradient(const Graph& graph) const {
    for (const Node& node : graph.nodes())
      if (is_role(node, Role::input) && node.attributes.text("port") == name(PortKind::gradient))
        throw Error("a stage of the pipeline needs what a later one makes; stages must follow the order of the layers");
  }

  void compile_training(StepPlan& plan) {
    const StepHalves halves = split_update(step_);
    const std::vector<UpdateParts> updates = place_update(halves.update, stages_);
    std::vector<std::vector<std::int32_t>> sums;
    for (const UpdateParts& update : updates) sums.push_back(update.sums);
    const std::vector<Graph> micro_batches = cut_stages(halves.micro_batch, sums);
    for (std::size_t i = 0; i < stages(); ++i) {
      StagePlan& stage = plan.stages.emplace_back();
      for (const Assignment& assignment : micro_batches[i].assignments())
        stage.statistics.push_back(variable_of(micro_batches[i], assignment));
      const bool is_last = i + 1 == stages();
      StagePasses passes;
      if (is_last) passes.backward = remove_spans(micro_batches[i]);
      else passes = split_passes(remove_spans(micro_batches[i]), division_.recomputation);
      for (const Output& output : passes.backward.outputs())
        if (output.kind == PortKind::sum)
          stage.sums.push_back({.name = sum_name(output.number),
                                .type = passes.backward.type(output.value),
                                .role = VariableRole::sum,
                                .assigned = true});
      stage.forward = compiled(passes.forward);
      stage.backward_first = compiled(accumulate(passes.backward, true));
      stage.backward_next = compiled(accumulate(passes.backward, false));
      stage.update_values = compiled(updates[i].values);
      stage.update = compiled(updates[i].update);
    }
  }

  std::optional<Plan> compiled(const Graph& graph) const {
    return graph.nodes().empty() ? std::optional<Plan>() : compile(graph, options_);
  }

  static VariablePort variable_of(const Graph& graph, const Assignment& assignment) {
    const Node& node = graph.node(assignment.variable);
    return {.name = node.attributes.text("name"),
            .type = node.outputs[0],
            .role = variable_role_named(node.attributes.text("role")),
            .assigned = true};
  }

  // Gives each port of the stage's programs a place.
  void connect(StepPlan& plan, std::size_t index) const {
    for (const Plan* program : plan.stages[index].all()) {
      if (program == nullptr) continue;
      for (const Port& port : program->inputs) {
        if (port.kind == PortKind::host) plan.host.add(port);
        else if (port.kind != PortKind::exchange) plan.stages[index].slot.add(port);
      }
      for (const Port& port : program->outputs) switch (port.kind) {
          case PortKind::activation: plan.stages.at(index + 1).slot.add(port); break;
          case PortKind::gradient: plan.stages.at(index - 1).slot.add(port); break;
          case PortKind::stash: plan.stages[index].slot.add(port); break;
          case PortKind::exchange: plan.exchange.add(port); break;
          default: plan.results.add(port);
        }
    }
  }

  std::size_t stages() const { return static_cast<std::size_t>(stages_); }

  const Graph& step_;
  const Division& division_;
  const CompileOptions& options_;
  const int stages_;
  const bool trains_;
};

}  // namespace

StepPlan compile_step(const Graph& step, const Division& division, const CompileOptions& options, int stages) {
  return StepCompiler(step, division, options, std::max(stages, step.stages())).run();
}

}  // namespace pando
