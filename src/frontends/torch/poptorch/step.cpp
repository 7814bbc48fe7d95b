#include "frontends/torch/poptorch/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/op_definition.h"
#include "model/divide.h"
#include "model/sample_rows.h"
#include "model/stage_graphs.h"
#include "model/target.h"
#include "model/tensor.h"

namespace pando::poptorch {

namespace {

using torch::nn::Tracing;
using torch::optim::ParameterGroup;

// A forward() as one graph.
struct Traced {
  Graph graph;
  std::unique_ptr<Trace> trace;
  std::vector<Value> outputs;
  // None for inference.
  Value loss;
  // None where all samples are real.
  Value mask;
  std::vector<Tracing::BlockBegin> blocks;
};

// What data sets have and ops do not take is cast once.
Value as_taken(Value fed) {
  if (fed.dtype() == DType::int64) return ops::cast(fed, DType::int32);
  return fed.dtype() == DType::float64 ? ops::cast(fed, DType::float32) : fed;
}

std::unique_ptr<Traced> trace_forward(const std::vector<Type>& inputs, const StepContext& context) {
  auto traced = std::make_unique<Traced>();
  traced->trace = std::make_unique<Trace>(traced->graph, context.optimizer != nullptr);
  const TraceScope scope(*traced->trace);
  Tracing tracing(context.module, *traced->trace, context.options.random_seed);
  if (context.masked) {
    traced->mask = ops::input(traced->graph, mask_feed, DType::float32, {inputs[0].shape[0]});
    traced->trace->set_sample_mask(traced->mask);
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.emplace_back(*traced->trace,
                         as_taken(ops::input(traced->graph, input_feed(i), inputs[i].dtype, inputs[i].shape)));
  for (const Tensor& output : context.forward(tensors)) traced->outputs.push_back(output.state().value);
  if (context.optimizer != nullptr) traced->loss = tracing.loss().state().value;
  traced->blocks = tracing.blocks();
  return traced;
}

// Returns which outputs have rows for each sample.
std::vector<bool> check_samples_apart(const Traced& traced, const StepContext& context) {
  using Dependence = SampleRows::Dependence;
  const SampleRows rows(traced.graph, traced.mask);
  const auto is_none = [&](Value value) { return rows.of(value) == Dependence::none; };
  Graph& graph = traced.mask.graph();
  const bool apart = std::none_of(traced.outputs.begin(), traced.outputs.end(),
                                  [&](Value output) { return rows.of(output) == Dependence::mixed; }) &&
                     (!traced.loss || is_none(traced.loss)) &&
                     std::all_of(graph.assignments().begin(), graph.assignments().end(),
                                 [&](const Assignment& assignment) { return is_none(graph.value(assignment.value)); });
  if (!apart)
    throw Error(fmt::format(
        "{}: the samples do not fill the last micro-batch, and '{}' in forward() mixes its samples, so that "
        "those that fill it up would count; reduce by a loss of torch::nn or by poptorch::identity_loss, or "
        "leave the last samples out: {{.drop_last = true}}",
        context.optimizer != nullptr ? "trainingModel" : "inferenceModel", rows.first_mixture().value_or("the loss")));
  std::vector<bool> has_rows;
  for (const Value& output : traced.outputs) has_rows.push_back(!is_none(output));
  return has_rows;
}

bool is_trained(const StepContext& context, const Parameter& parameter) {
  for (const ParameterGroup& group : context.optimizer->state().groups)
    for (const torch::nn::Parameter& known : group.parameters)
      if (known.state().stored == parameter) return known.requires_grad();
  return false;
}

std::vector<Parameter> trained_parameters(const StepContext& context, const Trace& trace) {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : trace.parameters())
    if (is_trained(context, parameter)) trained.push_back(parameter);
  return trained;
}

// The gradients are those of the parameters, in their order.
void add_update(const StepContext& context, Trace& trace, const std::vector<Parameter>& parameters,
                const std::vector<Value>& gradients) {
  Value step = trace.update_number();
  if (context.optimizer_begin != 0) step = step - static_cast<double>(context.optimizer_begin);
  const std::vector<ParameterGroup>& groups = context.optimizer->state().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Parameter> members;
    std::vector<Value> slopes;
    for (const torch::nn::Parameter& member : groups[g].parameters)
      for (std::size_t i = 0; i < parameters.size(); ++i)
        if (parameters[i] == member.state().stored) {
          members.push_back(parameters[i]);
          slopes.push_back(gradients[i]);
        }
    if (members.empty()) continue;
    const Value rate = ops::variable(trace.graph(), rate_variable(g), DType::float32, {});
    apply_updates(trace, context.variables, groups[g].rule, rate, step, members, slopes);
  }
}

Program whole_program(Traced& traced, const StepContext& context, const Device& device) {
  for (std::size_t i = 0; i < traced.outputs.size(); ++i)
    traced.graph.add_output(output_name(i), traced.outputs[i], context.keeps_all);
  if (traced.loss) {
    const std::vector<Parameter> parameters = trained_parameters(context, *traced.trace);
    add_update(context, *traced.trace, parameters, parameter_gradients(*traced.trace, traced.loss, parameters));
  }
  traced.trace->bind(context.variables);
  return Program(traced.graph, device, context.variables, {.check_numerics = context.options.check_numerics});
}

// The stage of each node, from the blocks; sources are where they are used.
class StagesOfNodes {
 public:
  StagesOfNodes(Traced& traced) : graph_(traced.graph), of_node_(traced.graph.nodes().size(), 0) {
    for (std::size_t b = 0; b < traced.blocks.size(); ++b) {
      const std::size_t end = b + 1 < traced.blocks.size() ? traced.blocks[b + 1].node : of_node_.size();
      for (std::size_t node = traced.blocks[b].node; node < end; ++node) of_node_[node] = traced.blocks[b].ipu;
    }
    for (const Tracing::BlockBegin& block : traced.blocks) count_ = std::max(count_, block.ipu + 1);
    check_order();
    check_gaps();
  }

  int count() const { return count_; }
  int of(ValueId id) const { return of_node_[static_cast<std::size_t>(id.node)]; }
  bool is_source(ValueId id) const { return !is_role(graph_.node(id), Role::compute); }

  // The values that pass from stage `stage` to the next, to it or to later ones.
  std::vector<Value> crossing(int stage, const Traced& traced) const {
    std::vector<Value> values;
    const auto add = [&](ValueId id, int user) {
      if (is_source(id) || of(id) > stage || user <= stage) return;
      const bool known = std::any_of(values.begin(), values.end(), [&](Value v) { return v.id() == id; });
      if (!known) values.push_back(graph_.value(id));
    };
    for (std::size_t node = 0; node < of_node_.size(); ++node)
      for (ValueId input : graph_.nodes()[node].inputs) add(input, of_node_[node]);
    if (traced.loss) add(traced.loss.id(), count_ - 1);
    return values;
  }

  // Whether a node of the stage uses the variable.
  bool uses(int stage, ValueId variable) const {
    for (std::size_t node = 0; node < of_node_.size(); ++node) {
      const auto& inputs = graph_.nodes()[node].inputs;
      if (of_node_[node] == stage && std::find(inputs.begin(), inputs.end(), variable) != inputs.end()) return true;
    }
    return false;
  }

 private:
  void check_order() const {
    for (std::size_t node = 0; node < of_node_.size(); ++node)
      for (ValueId input : graph_.nodes()[node].inputs)
        if (!is_source(input) && of(input) > of_node_[node])
          throw Error(
              fmt::format("the block on IPU {} needs what '{}' makes on IPU {}; a block can only use what "
                          "blocks of smaller IPU numbers make",
                          of_node_[node], graph_.node(input).name, of(input)));
  }
  void check_gaps() const {
    // On one IPU there may be nothing to compute.
    if (count_ == 1) return;
    for (int stage = 0; stage < count_; ++stage) {
      const bool found = std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
        return is_role(node, Role::compute) &&
               of_node_[static_cast<std::size_t>(&node - graph_.nodes().data())] == stage;
      });
      if (!found)
        throw Error(fmt::format("no block runs on IPU {} but one runs on IPU {}; number them from 0 without a gap",
                                stage, count_ - 1));
    }
  }

  Graph& graph_;
  std::vector<int> of_node_;
  int count_ = 1;
};

// A stage as a graph of its own.
struct StagePart {
  Graph graph;
  std::unique_ptr<Trace> trace;
  std::unique_ptr<StageForward> forward;
};

std::unique_ptr<StagePart> cut_stage(int stage, const StagesOfNodes& stages, Traced& traced,
                                     const StepContext& context) {
  auto part = std::make_unique<StagePart>();
  part->trace = std::make_unique<Trace>(part->graph, context.optimizer != nullptr);
  const bool is_last = stage + 1 == stages.count();
  part->forward = std::make_unique<StageForward>(StageForward{.trace = *part->trace, .is_last = is_last});
  StageForward& forward = *part->forward;
  GraphPart copy(traced.graph, part->graph);
  if (stage > 0) {
    const std::vector<Value> taken = stages.crossing(stage - 1, traced);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      copy.cut(taken[i], fmt::format("activation/{}", i));
      forward.taken.push_back(copy.copy(taken[i]));
    }
  }
  if (!is_last)
    for (const Value& value : stages.crossing(stage, traced)) forward.given.push_back(copy.copy(value));
  for (std::size_t i = 0; i < traced.outputs.size(); ++i) {
    const ValueId id = traced.outputs[i].id();
    if (stages.is_source(id) ? stage == 0 : stages.of(id) == stage)
      forward.results.emplace_back(output_name(i), copy.copy(traced.outputs[i]));
  }
  if (is_last && traced.loss) forward.objective = copy.copy(traced.loss);
  if (traced.mask && traced.loss) {
    // A micro-batch counts as much as it has samples.
    forward.count = ops::reduce_sum(copy.copy(traced.mask));
    const bool is_mean = context.options.reduction == ReductionType::Mean;
    if (is_last && is_mean) forward.objective = forward.objective * forward.count;
  }
  for (const Assignment& assignment : traced.graph.assignments())
    if (stages.of(assignment.value) == stage)
      copy.assign(traced.graph.value(assignment.variable), traced.graph.value(assignment.value));
  for (const Parameter& parameter : traced.trace->parameters()) {
    const Value value = traced.trace->value_of(parameter);
    if (stages.uses(stage, value.id())) part->trace->adopt(parameter, copy.copy(value));
  }
  return part;
}

void check_shared_parameters(const StagesOfNodes& stages, Traced& traced) {
  for (const Parameter& parameter : traced.trace->parameters()) {
    int first = -1;
    for (int stage = 0; stage < stages.count(); ++stage) {
      if (!stages.uses(stage, traced.trace->value_of(parameter).id())) continue;
      if (first >= 0)
        throw Error(
            fmt::format("the parameter '{}' is used on IPU {} and on IPU {}; put the modules that share it "
                        "into one block",
                        traced.trace->name_of(parameter), first, stage));
      first = stage;
    }
  }
}

StageGraphs stage_graphs(int stage, StageForward& forward, const StepContext& context) {
  if (context.optimizer == nullptr) return inference_graphs(forward, context.variables);
  forward.parameters = trained_parameters(context, forward.trace);
  if (!forward.count) forward.count = ops::constant(forward.trace.graph(), Array::scalar(1.0F));
  return training_graphs(forward,
                         {.stage = stage,
                          .sum = context.options.reduction == ReductionType::Sum,
                          .add_update =
                              [&](Trace& trace, const std::vector<Value>& gradients) {
                                add_update(context, trace, forward.parameters, gradients);
                              }},
                         context.variables);
}

ParallelProgram divided_program(Traced& traced, const StagesOfNodes& stages, const StepContext& context,
                                const std::vector<Device>& devices) {
  check_shared_parameters(stages, traced);
  std::vector<StageGraphs> graphs;
  for (int stage = 0; stage < stages.count(); ++stage) {
    const std::unique_ptr<StagePart> part = cut_stage(stage, stages, traced, context);
    graphs.push_back(stage_graphs(stage, *part->forward, context));
  }
  return ParallelProgram(
      graphs, devices, context.variables,
      {.replicas = context.options.replicas, .order = context.options.order, .training = context.optimizer != nullptr});
}

}  // namespace

std::string input_feed(std::size_t index) { return fmt::format("input{}", index); }
std::string output_name(std::size_t index) { return fmt::format("output{}", index); }
std::string rate_variable(std::size_t group) { return fmt::format("learning_rate/{}", group); }

Step build_step(const std::vector<Type>& inputs, const StepContext& context) {
  const std::unique_ptr<Traced> traced = trace_forward(inputs, context);
  Step step;
  for (const Value& output : traced->outputs) step.outputs.push_back(output.type());
  if (traced->mask) step.has_rows = check_samples_apart(*traced, context);
  const StagesOfNodes stages(*traced);
  const OptionsState& options = context.options;
  std::vector<Device>& devices = context.devices;
  if (devices.empty()) devices = make_ipus(stages.count() * options.replicas);
  const bool accumulates = context.optimizer != nullptr && options.accumulation > 1;
  if (stages.count() == 1 && options.replicas == 1 && !accumulates)
    step.program.emplace(whole_program(*traced, context, devices.front()));
  else step.parallel.emplace(divided_program(*traced, stages, context, devices));
  return step;
}

}  // namespace pando::poptorch
