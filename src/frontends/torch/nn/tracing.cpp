// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "frontends/torch/nn/module.h"
#include "graph/op_definition.h"
#include "model/sample_rows.h"
#include "model/tensor.h"

namespace pando::torch::nn {

namespace {

thread_local Tracing* innermost = nullptr;

void collect_paths(const Module& module, const std::string& path, std::vector<std::pair<Module, std::string>>& paths) {
  paths.emplace_back(module, path);
  for (const auto& [name, child] : module.named_children())
    collect_paths(child, path.empty() ? name : path + "." + name, paths);
}

// "layer1.conv (Conv2d)", or the kind alone.
std::string title_of(const Module& module) {
  const Tracing* tracing = Tracing::current();
  const std::string path = tracing != nullptr ? tracing->path_of(module) : "";
  return path.empty() ? module.state().kind : fmt::format("{} ({})", path, module.state().kind);
}

std::string scope_of(const Module& module) {
  const Tracing* tracing = Tracing::current();
  const std::string path = tracing != nullptr ? tracing->path_of(module) : "";
  return path.empty() ? module.state().kind : path;
}

Tensor call_module(const Module& module, const std::vector<Tensor>& inputs,
                   const Function<Value(Trace&, const std::vector<Value>&)>& function) {
  const std::string title = title_of(module);
  Trace* trace = trace_of(title, inputs);
  if (trace == nullptr)
    throw Error(
        fmt::format("{}: its input is the tensor of a Keras model; modules take tensors while forward() is "
                    "traced by trainingModel or inferenceModel",
                    title));
  if (Tracing* tracing = Tracing::current()) {
    tracing->check_registered(module);
    tracing->begin_call(module);
  }
  try {
    const Graph::Scope scope(trace->graph(), scope_of(module));
    return {*trace, function(*trace, values_in(*trace, title, inputs))};
  } catch (const Error& error) {
    std::string shapes;
    for (const Tensor& input : inputs) shapes += (shapes.empty() ? "" : " and ") + to_string(input.shape());
    throw Error(fmt::format("{} cannot take {}: {}", title, shapes, error.what()));
  }
}

}  // namespace

Value LayerCall::parameter(std::size_t index) const {
  const Parameter::State& parameter = state_.parameters.at(index).second.state();
  const Value stored = trace_.value_of(parameter.stored);
  if (!state_.layer || parameter.permutation == state_.layer->parameters.at(index).permutation) return stored;
  // A parameter of another module may be stored in another order.
  const std::vector<std::int64_t>& wanted = state_.layer->parameters[index].permutation;
  const Value shown = parameter.permutation.empty() ? stored : ops::transpose(stored, inverse(parameter.permutation));
  return wanted.empty() ? shown : ops::transpose(shown, wanted);
}
Value LayerCall::buffer(std::size_t index) const {
  return trace_.current_value_of(state_.buffers.at(index).second.state().stored);
}
void LayerCall::assign_buffer(std::size_t index, Value value) const {
  if (const Tracing* tracing = Tracing::current(); tracing != nullptr && !tracing->keeps_statistics()) return;
  trace_.assign_statistic(state_.buffers.at(index).second.state().stored, value);
}

ops::RandomOptions LayerCall::random() const {
  Tracing* tracing = Tracing::current();
  const std::optional<std::uint64_t> seed = tracing != nullptr ? tracing->random_seed() : std::nullopt;
  // A module that is called twice draws twice: the number of the call in forward() distinguishes calls, and modules.
  return {.seed = static_cast<std::int64_t>(seed.value_or(state_.key)),
          .stream = tracing != nullptr ? tracing->next_stream() : 0};
}

Tensor Layer::forward(const Tensor& x) const {
  const Body& body = *state().layer;
  return call_module(*this, {x}, [&](Trace& trace, const std::vector<Value>& values) {
    return body.forward(LayerCall(*this, trace), values[0]);
  });
}

Loss::Loss(std::shared_ptr<const Body> body) {
  state().kind = body->kind;
  for (const Layer::Body::Weight& buffer : body->buffers)
    state().buffers.emplace_back(buffer.name, ModuleAccess::parameter(buffer, false));
  state().loss = std::move(body);
}

Tensor Loss::forward(const Tensor& input, const Tensor& target) const {
  const Body& body = *state().loss;
  const Tensor loss = call_module(*this, {input, target}, [&](Trace& trace, const std::vector<Value>& values) {
    return body.forward(LayerCall(*this, trace), values[0], values[1]);
  });
  if (Tracing* tracing = Tracing::current()) tracing->add_loss(loss);
  return loss;
}

void check_reduction(const std::string& who, const std::string& reduction) {
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    throw Error(fmt::format("{}: the reduction is '{}' but must be 'mean', 'sum' or 'none'", who, reduction));
}

Value mask_for(const Trace& trace, Value x) {
  const Value mask = trace.sample_mask();
  if (!mask || x.shape().rank() == 0) return {};
  const SampleRows::Dependence dependence = SampleRows(trace.graph(), mask).of(x);
  if (dependence != SampleRows::Dependence::rows && dependence != SampleRows::Dependence::masked_rows) return {};
  Shape shape = {x.shape()[0]};
  for (int axis = 1; axis < x.shape().rank(); ++axis) shape.append(1);
  return ops::cast(ops::reshape(mask_of_rows(mask, shape[0]), shape), x.dtype());
}

Value divided_by_weights(const Trace& trace, Value sum, Value weights) {
  if (!trace.sample_mask()) return sum / weights;
  const Value count = ops::reduce_sum(trace.sample_mask());
  const Value any = ops::greater(count, ops::scalar(count, 0.0));
  return sum / ops::select(any, weights, ops::scalar(weights, 1.0));
}

Value reduced(const Trace& trace, Value x, const std::string& reduction) {
  if (reduction == "none" || x.shape().rank() == 0) return x;
  const Value mask = mask_for(trace, x);
  if (!mask) return reduction == "sum" ? ops::reduce_sum(x) : ops::reduce_mean(x);
  const Value sum = ops::reduce_sum(x * mask);
  if (reduction == "sum") return sum;
  const auto elements_of_row = static_cast<double>(x.shape().elements() / x.shape()[0]);
  return divided_by_weights(trace, sum, ops::reduce_sum(mask) * elements_of_row);
}

Tracing::Tracing(const Module& root, Trace& trace, const std::optional<std::uint64_t>& random_seed,
                 bool calls_are_stages)
    : trace_(trace), random_seed_(random_seed), calls_are_stages_(calls_are_stages), outer_(innermost) {
  collect_paths(root, "", paths_);
  for (const NamedParameters& list : {root.named_parameters(), root.named_buffers()})
    for (const auto& [name, parameter] : list) trace.set_name(parameter.state().stored, name);
  innermost = this;
}
Tracing::~Tracing() { innermost = outer_; }
Tracing* Tracing::current() { return innermost; }

std::string Tracing::path_of(const Module& module) const {
  for (const auto& [known, path] : paths_)
    if (known == module) return path;
  return "";
}

void Tracing::check_registered(const Module& module) const {
  if (module.state().parameters.empty() && module.state().buffers.empty()) return;
  for (const auto& [known, path] : paths_)
    if (known == module) return;
  throw Error(fmt::format("{} has parameters but is not registered; name it in the register_modules of its module",
                          to_string(module)));
}

void Tracing::set_identity_loss(const Tensor& loss) {
  if (identity_loss_) throw Error("identity_loss: it was called before in this forward(); call it once, on the sum");
  identity_loss_ = loss;
}

Tensor Tracing::loss() const {
  const std::vector<Tensor> found = identity_loss_ ? std::vector{*identity_loss_} : losses_;
  if (found.empty())
    throw Error("trainingModel: forward() computes no loss; use a loss of torch::nn or poptorch::identity_loss");
  if (found.size() > 1)
    throw Error(
        fmt::format("trainingModel: forward() computes {} losses; combine them and call "
                    "poptorch::identity_loss on the result",
                    found.size()));
  if (found[0].shape().elements() != 1)
    throw Error(
        fmt::format("trainingModel: the loss has shape {} but must be one number; use the reduction 'mean' or "
                    "'sum'",
                    to_string(found[0].shape())));
  return found[0];
}

void Tracing::begin_block(int ipu) {
  if (calls_are_stages_) throw Error("PipelinedExecution has stages but the model has blocks; leave out one of them");
  trace_.graph().begin_stage(ipu);
}

void Tracing::begin_call(const Module& module) {
  // A block begins at its first call only.
  if (const auto& block = module.state().block; block && begun_.insert(block->number).second) begin_block(block->ipu);
  begin_call(scope_of(module));
}

void Tracing::begin_call(const std::string& module) {
  Graph& graph = trace_.graph();
  // A call that makes no node, such as dropout in inference, is not a stage.
  const auto is_of_stage = [&](const Node& node) { return !is_source(node) && node.stage == graph.stage(); };
  if (calls_are_stages_ && std::any_of(graph.nodes().begin(), graph.nodes().end(), is_of_stage))
    graph.begin_stage(graph.stage() + 1);
  calls_.push_back({graph.stage(), module});
}

void Tracing::begin_node(const std::string& name, int stage) {
  scope_.reset();
  if (!name.empty()) scope_.emplace(trace_.graph(), name);
  trace_.graph().begin_stage(stage);
}

}  // namespace pando::torch::nn
