// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/poptorch/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "model/balance_stages.h"
#include "model/explain.h"
#include "model/objective.h"
#include "model/sample_rows.h"
#include "model/target.h"
#include "model/tensor.h"
#include "model/update_rule.h"

namespace pando::poptorch {

namespace {

using torch::nn::Tracing;
using torch::optim::ParameterGroup;

// A micro-batch as one graph.
struct Traced {
  Graph graph;
  std::unique_ptr<Trace> trace;
  std::vector<Value> outputs;
  // Empty for inference.
  Value loss;
  // Those that are trained and, if the front end made them, their gradients.
  std::vector<Parameter> parameters;
  std::vector<Value> gradients;
  // How many nodes the forward pass has.
  std::size_t forward_nodes = 0;
  // The calls of modules, each with its stage.
  std::vector<Tracing::Call> calls;
  // Empty if all samples are real.
  Value mask;
};

// Types that data sets have and ops do not take are cast once.
Value as_taken(Value fed) {
  if (fed.dtype() == DType::int64) return ops::cast(fed, DType::int32);
  return fed.dtype() == DType::float64 ? ops::cast(fed, DType::float32) : fed;
}

bool is_mean(const StepContext& context) { return context.options.reduction == ReductionType::Mean; }

// The weight of a micro-batch in a mean is the number of its samples.
std::optional<Tensor> weight_of(Traced& traced, const StepContext& context) {
  if (!traced.mask || context.optimizer == nullptr || !is_mean(context)) return std::nullopt;
  const Graph::StageScope stage(traced.graph, any_stage);
  return Tensor(*traced.trace, ops::reduce_sum(traced.mask));
}

bool is_trained(const StepContext& context, const Parameter& parameter) {
  for (const ParameterGroup& group : context.optimizer->state().groups)
    for (const torch::nn::Parameter& known : group.parameters)
      if (known.state().stored == parameter) return known.requires_grad();
  return false;
}

void trace_passes(Traced& traced, const std::vector<Type>& inputs, const StepContext& context) {
  Trace& trace = *traced.trace;
  const auto tensor = [&](Value value) { return value ? std::optional(Tensor(trace, value)) : std::nullopt; };
  PassInputs given{.tensors = {},
                   .counter = Tensor(trace, trace.counter()),
                   .mask = tensor(traced.mask),
                   .weight = weight_of(traced, context)};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    given.tensors.emplace_back(trace, ops::input(traced.graph, input_feed(i), inputs[i].dtype, inputs[i].shape));
  const PassResults results = context.passes(given);
  for (const Tensor& output : results.outputs) traced.outputs.push_back(output.value());
  if (context.optimizer == nullptr) return;
  if (!results.loss) throw Error("trainingModel: the passes return no loss");
  traced.loss = results.loss->value();
  for (const auto& [parameter, gradient] : results.gradients)
    if (is_trained(context, parameter.state().stored)) {
      traced.parameters.push_back(parameter.state().stored);
      traced.gradients.push_back(gradient.value());
    }
}

void trace_forward(Traced& traced, const std::vector<Type>& inputs, const StepContext& context) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.emplace_back(*traced.trace,
                         as_taken(ops::input(traced.graph, input_feed(i), inputs[i].dtype, inputs[i].shape)));
  for (const Tensor& output : context.forward(tensors)) traced.outputs.push_back(output.state().value);
}

std::unique_ptr<Traced> trace_micro_batch(const std::vector<Type>& inputs, const StepContext& context) {
  auto traced = std::make_unique<Traced>();
  traced->trace = std::make_unique<Trace>(traced->graph, context.optimizer != nullptr);
  const TraceScope scope(*traced->trace);
  Tracing tracing(context.module, *traced->trace, context.options.random_seed, context.options.stages > 0);
  if (context.masked) {
    traced->mask = ops::input(traced->graph, mask_feed, DType::float32, {inputs[0].shape[0]});
    traced->trace->set_sample_mask(traced->mask);
  }
  // Nodes before the first block are on IPU 0.
  const Graph::StageScope stage(traced->graph, 0);
  if (context.passes) {
    trace_passes(*traced, inputs, context);
  } else {
    trace_forward(*traced, inputs, context);
    if (context.optimizer != nullptr) traced->loss = tracing.loss().state().value;
  }
  traced->calls = tracing.calls();
  traced->forward_nodes = tracing.forward_nodes();
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

// Those that forward() uses, in the order of their first use.
std::vector<Parameter> trained_parameters(const StepContext& context, const Trace& trace) {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : trace.parameters())
    if (is_trained(context, parameter)) trained.push_back(parameter);
  return trained;
}

// The calls of modules, which are stages so far, become stages of about equal work.
void balance(Traced& traced, const StepContext& context) {
  const int calls = traced.graph.stages(), stages = context.options.stages;
  if (stages > calls)
    throw Error(fmt::format("PipelinedExecution: {} stages for {} call{} of modules; every stage needs one", stages,
                            calls, calls == 1 ? "" : "s"));
  ForwardPass forward{.graph = traced.graph, .results = traced.outputs, .loss = traced.loss};
  if (traced.loss)
    for (const Parameter& parameter : traced.parameters) forward.trained.push_back(traced.trace->value_of(parameter));
  if (context.passes) forward.slopes = traced.gradients;
  const std::vector<double> work = work_of_parts(forward);
  const std::vector<int> stage_of_call = balance_stages(work, stages);
  GraphEditor::renumber_stages(traced.graph, stage_of_call);
  // The last call may have made no node.
  for (Tracing::Call& call : traced.calls)
    call.stage = stage_of_call[static_cast<std::size_t>(std::min(call.stage, calls - 1))];
}

// The checks look at the forward pass alone, whose nodes have the stages of their blocks.
class BlockChecker {
 public:
  explicit BlockChecker(const Traced& traced)
      : graph_(traced.graph),
        forward_(std::span(traced.graph.nodes()).first(traced.forward_nodes)),
        stages_(traced.graph.stages()) {}

  void check() const {
    check_order();
    // On one IPU there may be nothing to compute.
    if (stages_ > 1) check_gaps();
  }

 private:
  void check_order() const {
    for (const Node& node : forward_)
      for (ValueId input : node.inputs)
        if (const Node& maker = graph_.node(input); !is_source(maker) && maker.stage > node.stage)
          throw Error(
              fmt::format("the block on IPU {} needs what '{}' makes on IPU {}; a block can only use what "
                          "blocks of smaller IPU numbers make",
                          node.stage, maker.name, maker.stage));
  }

  void check_gaps() const {
    for (int stage = 0; stage < stages_; ++stage) {
      const bool found = std::any_of(forward_.begin(), forward_.end(),
                                     [&](const Node& node) { return !is_source(node) && node.stage == stage; });
      if (!found)
        throw Error(fmt::format("no block runs on IPU {} but one runs on IPU {}; number them from 0 without a gap",
                                stage, stages_ - 1));
    }
  }

  const Graph& graph_;
  const std::span<const Node> forward_;
  const int stages_;
};

// "conv1 .. fc2".
std::string modules_of_stage(const std::vector<Tracing::Call>& calls, int stage) {
  std::vector<std::string> names;
  for (const Tracing::Call& call : calls)
    if (call.stage == stage && std::find(names.begin(), names.end(), call.module) == names.end())
      names.push_back(call.module);
  return layers_text(names);
}

Objective objective_of(const Traced& traced, const StepContext& context, bool is_whole) {
  Objective objective{.loss = traced.loss,
                      .reduction = is_mean(context) ? Reduction::mean : Reduction::sum,
                      .spans = !is_whole || (context.passes && traced.mask)};
  if (!objective.spans) return objective;
  Graph& graph = traced.loss.graph();
  if (!traced.mask) {
    objective.count = ops::constant(graph, Array::scalar(1.0F));
    return objective;
  }
  // A micro-batch is weighted by its number of samples.
  objective.count = ops::reduce_sum(traced.mask);
  // Where the front end made the gradients, the weight is in them.
  if (objective.reduction == Reduction::mean && !context.passes) {
    const Graph::StageScope stage(graph, graph.node(traced.loss.id()).stage);
    objective.loss = objective.loss * objective.count;
  }
  return objective;
}

}  // namespace

std::string input_feed(std::size_t index) { return fmt::format("input{}", index); }
std::string output_name(std::size_t index) { return fmt::format("output{}", index); }

ModuleStep build_step(const std::vector<Type>& inputs, const StepContext& context) {
  const std::unique_ptr<Traced> traced = trace_micro_batch(inputs, context);
  if (traced->loss && !context.passes) traced->parameters = trained_parameters(context, *traced->trace);
  std::vector<Type> outputs;
  for (const Value& output : traced->outputs) outputs.push_back(output.type());
  std::vector<bool> has_rows;
  if (traced->mask) has_rows = check_samples_apart(*traced, context);
  if (context.options.stages > 0) balance(*traced, context);
  else BlockChecker(*traced).check();
  const OptionsState& options = context.options;
  const int stages = traced->graph.stages();
  const Division division{.replicas = options.all_replicas(),
                          .accumulation = context.optimizer != nullptr ? options.accumulation : 1,
                          .batch_size = inputs.empty() ? 1 : inputs[0].shape[0],
                          .order = options.order};
  std::vector<std::string> modules;
  for (int stage = 0; stage < stages; ++stage) modules.push_back(modules_of_stage(traced->calls, stage));
  const bool is_whole = stages == 1 && division.replicas == 1 && division.accumulation == 1;
  for (std::size_t i = 0; i < traced->outputs.size(); ++i)
    traced->graph.add_output(output_name(i), traced->outputs[i], context.keeps_all);
  if (traced->loss) {
    const Objective objective = objective_of(*traced, context, is_whole);
    const std::vector<Parameter>& parameters = traced->parameters;
    const std::vector<Value> gradients =
        context.passes ? update_gradients(*traced->trace, objective, parameters, traced->gradients)
                       : update_gradients(*traced->trace, objective, parameters);
    torch::optim::add_updates(*traced->trace, context.variables, *context.optimizer, context.optimizer_begin,
                              parameters, gradients);
  }
  if (context.devices.empty()) context.devices = make_ipus(stages * options.replicas);
  StepFeeds feeds{.mask = context.masked ? mask_feed : ""};
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds.columns.push_back(input_feed(i));
  return {Step(*traced->trace, context.devices, division, context.variables, std::move(feeds),
               {.check_numerics = options.check_numerics, .workers = options.workers}),
          std::move(outputs), std::move(has_rows), std::move(modules), is_whole};
}

}  // namespace pando::poptorch
