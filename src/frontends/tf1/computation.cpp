// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/computation.h"

#include <pando/program/profile.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/machine/cores.h"
#include "base/text.h"
#include "model/explain.h"
#include "model/predict_scaling.h"

namespace pando::tf1 {

namespace {

thread_local Tracer* innermost = nullptr;

std::string input_name(std::size_t index) { return fmt::format("input{}", index); }

}  // namespace

void StepSegment::finish(Computation& computation) {
  if (traced.graph.assignments().empty() && traced.graph.outputs().empty()) return;
  StepFeeds feeds;
  for (std::size_t i = 0; i < computation.inputs().size(); ++i) feeds.columns.push_back(input_name(i));
  step_.emplace(traced.trace, std::vector{computation.target().ipus.front()}, Division(), computation.variables(),
                std::move(feeds), computation.program_options());
}

Explanation StepSegment::explain(const Target& target) const {
  return {.model = "straight code", .batch_size = 1, .ipus = 1, .tiles_per_ipu = target.ipus.front().tiles()};
}

void StepSegment::run(const Arrays& inputs) {
  if (step_) outputs_ = step_->run_once(inputs, updates_++);
}

std::string Computation::new_variable(const std::string& kind) { return fmt::format("{}/{}", kind, names_[kind]++); }

void Computation::finish() {
  for (const auto& segment : segments_) segment->finish(*this);
  // What optimizers keep.
  std::map<std::string, Array> own;
  for (const auto& segment : segments_) {
    for (const Parameter& parameter : segment->parameters()) entries_.push_back(DefaultGraph::current().add(parameter));
    if (segment->program() == nullptr) continue;
    for (const VariableInfo& variable : segment->program()->variables())
      if (variable.role == VariableRole::slot || variable.role == VariableRole::rate)
        own.emplace(variable.name, variables_.get(variable.name));
  }
  const auto reset = [weak = weak_from_this(), own] {
    const std::shared_ptr<Computation> self = weak.lock();
    if (!self) return;
    for (const auto& [name, value] : own) self->variables_.set(name, value);
    for (const auto& segment : self->segments_) segment->set_updates(0);
  };
  const std::size_t entry = DefaultGraph::current().add(own.empty() ? "" : own.begin()->first, reset);
  if (!own.empty()) entries_.push_back(entry);
  DefaultGraph::current().add(weak_from_this());
}

std::vector<std::string> Computation::slots() const {
  std::set<std::string> names;
  for (const auto& segment : segments_)
    if (const Program* program = segment->program())
      for (const VariableInfo& variable : program->variables())
        if (variable.role == VariableRole::slot) names.insert(variable.name);
  return {names.begin(), names.end()};
}

std::vector<std::int64_t> Computation::updates() const {
  std::vector<std::int64_t> list;
  for (const auto& segment : segments_) list.push_back(segment->updates());
  return list;
}

void Computation::set_updates(const std::vector<std::int64_t>& updates) {
  for (std::size_t i = 0; i < segments_.size(); ++i) segments_[i]->set_updates(updates[i]);
}

Arrays Computation::run(Evaluation& evaluation) {
  for (std::size_t entry : entries_) evaluation.session().check_initialised(entry);
  Arrays inputs;
  for (const Tensor& input : inputs_) inputs.push_back(evaluation.value_of(input));
  for (const auto& segment : segments_) segment->run(inputs);
  return static_cast<StepSegment&>(*segments_.back()).take_outputs();
}

std::string Computation::explain() {
  std::string text;
  for (const auto& segment : segments_) {
    Program* program = segment->program();
    // What only passes values on takes no time.
    if (program == nullptr || program->kernels().empty()) continue;
    Explanation explanation = segment->explain(*target_);
    const std::vector<VariableInfo> variables = program->variables();
    explanation.training = std::any_of(variables.begin(), variables.end(),
                                       [](const VariableInfo& info) { return info.role == VariableRole::rate; });
    explanation.stages = explain_stages(*program);
    explanation.cores = usable_cores();
    for (std::size_t i = 0; explanation.stages.size() > 1 && i < explanation.stages.size(); ++i)
      explanation.stages[i].layers = segment->stage_text(static_cast<int>(i));
    explanation.workers = target_->worker_count();
    explanation.backend = target_->ipus.front().backend();
    // Only a pipeline has updates that workers share; a loop runs on one IPU.
    if (explanation.stages.size() > 1) explanation.scaling = predict_scaling(explanation, {}, kept_measurements());
    text += (text.empty() ? "" : "\n") + to_text(explanation);
  }
  return text;
}

void Computation::profile(Profiler& profiler) {
  for (const auto& segment : segments_)
    if (Program* program = segment->program()) profiler.attach(*program);
}

std::string Compiled::explain() const { return computation_->explain(); }
void Compiled::profile(Profiler& profiler) const { computation_->profile(profiler); }

Tracer::Tracer(Computation& computation) : computation_(computation), outer_(innermost) {
  innermost = this;
  begin_step();
}

Tracer::~Tracer() {
  while (!scopes_.empty()) scopes_.pop_back();
  innermost = outer_;
}

Tracer& Tracer::current(const std::string& who) {
  if (innermost == nullptr)
    throw Error(fmt::format("{}: it belongs in a computation that ipu_compiler::compile traces", who));
  return *innermost;
}

void Tracer::check_straight(const std::string& who) const {
  if (current_trace() != &step_->traced.trace)
    throw Error(fmt::format(
        "{}: nested loops and pipelines are not supported; let one loop run the product of their counts", who));
}

void Tracer::begin_step() {
  auto segment = std::make_unique<StepSegment>();
  step_ = segment.get();
  steps_.push_back(step_);
  computation_.segments().push_back(std::move(segment));
  TracedGraph& traced = step_->traced;
  scopes_.push_back(
      std::make_unique<TraceScope>(traced.trace, [this, &traced](const Tensor& t) { return import(traced, t); }));
}

void Tracer::trace(TracedGraph& graph, LoopSegment* loop, const Function<void()>& function) {
  const TraceScope scope(graph.trace, [&](const Tensor& tensor) { return import(graph, tensor); });
  loop_ = loop;
  try {
    function();
  } catch (...) {
    loop_ = nullptr;
    throw;
  }
  loop_ = nullptr;
}

Value Tracer::carry(TracedGraph& from, Value value, TracedGraph& into) {
  const auto key = std::make_tuple(from.number, value.id(), into.number);
  if (const auto known = carried_.find(key); known != carried_.end()) return known->second;
  const std::string name = computation_.new_carried_variable();
  const auto variable = [&](Graph& graph) {
    const Graph::StageScope stage(graph, any_stage);
    return ops::variable(graph, name, value.dtype(), value.shape(), VariableRole::carried);
  };
  from.graph.assign(variable(from.graph), value);
  return carried_[key] = variable(into.graph);
}

Value Tracer::import(TracedGraph& into, const Tensor& tensor) {
  if (is_recorded(tensor)) return import_recorded(into, tensor);
  for (StepSegment* step : steps_)
    if (belongs_to(tensor, step->traced.trace)) return carry(step->traced, tensor.state().value, into);
  throw Error("a tensor from within another computation, or from the body of a loop, is used; return it from there");
}

Value Tracer::argument(const Tensor& tensor) {
  const bool is_computed = is_recorded(tensor) && source_of(tensor) == nullptr;
  return is_computed ? fed(step_->traced, tensor) : import(step_->traced, tensor);
}

Value Tracer::import_recorded(TracedGraph& into, const Tensor& tensor) {
  const std::vector<Tensor>& inputs = computation_.inputs();
  const Source* source = source_of(tensor);
  if (source != nullptr && source->kind == Source::Kind::constant) return ops::constant(into.graph, source->constant);
  if (source != nullptr && source->kind == Source::Kind::variable) return into.trace.value_of(*source->variable);
  if (source != nullptr || std::find(inputs.begin(), inputs.end(), tensor) != inputs.end()) return fed(into, tensor);
  // The device computes it from the variables as they are at each step, so that gradients reach them.
  const std::shared_ptr<const Recording>& call = tensor.state().recording;
  if (!call->function)
    throw Error(fmt::format("compile: '{}' is the input of a Keras model and has no value here", call->name));
  std::vector<Value>& outputs = recorded_[{call, into.number}];
  if (outputs.empty()) {
    std::vector<Value> values;
    for (const Tensor& input : call->inputs) values.push_back(import_recorded(into, input));
    outputs = call->function(into.trace, values);
  }
  return outputs[static_cast<std::size_t>(tensor.state().output)];
}

// The host computes its value before each run; straight code takes it and passes it on.
Value Tracer::fed(TracedGraph& into, const Tensor& tensor) {
  for (std::int64_t size : tensor.shape())
    if (size < 0)
      throw Error(
          fmt::format("compile: an input has shape {} but every size must be known; give the placeholder its "
                      "batch size",
                      to_string(tensor.shape())));
  std::vector<Tensor>& inputs = computation_.inputs();
  const auto place = std::find(inputs.begin(), inputs.end(), tensor) - inputs.begin();
  const auto index = static_cast<std::size_t>(place);
  if (index == inputs.size()) inputs.push_back(tensor);
  TracedGraph& first = steps_.front()->traced;
  const auto key = std::make_tuple(first.number, ValueId{-1, static_cast<std::int32_t>(index)}, first.number);
  Value& value = carried_[key];
  if (!value) value = ops::input(first.graph, input_name(index), tensor.dtype(), tensor.shape());
  return &first == &into ? value : carry(first, value, into);
}

}  // namespace pando::tf1
