// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pando::tf1 {

namespace {

constexpr const char* condition_output = "continue";

}  // namespace

void LoopSegment::add_outfeed(const std::shared_ptr<ipu::OutfeedState>& queue, const std::vector<Value>& values) {
  Outfeed outfeed{queue, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    outfeed.outputs.push_back(fmt::format("outfeed{}/{}", outfeeds_.size(), i));
    traced.graph.add_output(outfeed.outputs.back(), values[i], true);
  }
  outfeeds_.push_back(std::move(outfeed));
}

std::vector<Tensor> LoopSegment::infeed_tensors() {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; infeed_ && i < infeed_->types.size(); ++i) {
    const auto& [dtype, shape] = infeed_->types[i];
    tensors.emplace_back(traced.trace, ops::input(traced.graph, infeed_name(i), dtype, shape));
  }
  return tensors;
}

void LoopSegment::compile(Computation& computation, const std::vector<Device>& devices, const Division& division) {
  StepFeeds feeds;
  for (std::size_t i = 0; infeed_ && i < infeed_->types.size(); ++i) feeds.columns.push_back(infeed_name(i));
  ProgramOptions options = computation.program_options();
  if (division.replicas > 1) options.workers = computation.target().workers;
  step_.emplace(traced.trace, devices, division, computation.variables(), std::move(feeds), options);
}

void LoopSegment::finish(Computation& computation) {
  if (computation.target().workers)
    throw Error(
        "repeat: a loop runs on one IPU, so several workers would all do the same; give them a pipeline "
        "(pipelining_ops::pipeline), whose replicas they share");
  compile(computation, {computation.target().ipus.front()}, {});
}

void LoopSegment::run_rows(std::int64_t rows, const char* what) {
  if (infeed_) infeed_->check_initialised("run");
  // Another loop may have taken elements in between, or the queue or the variables were initialised again.
  const bool fits = loop_ && used_ >= 0 && loop_->next_update() == updates_ && (!batches_ || batches_->fits(used_));
  if (!fits) {
    loop_.reset();
    batches_ = infeed_ ? std::make_shared<InfeedBatches>(infeed_) : nullptr;
    loop_.emplace(*step_, batches_, updates_);
    used_ = 0;
  }
  const std::int64_t wanted = rows * step_->division.replicas, used = std::exchange(used_, -1);
  const std::int64_t done = wanted == 0 ? 0 : loop_->run(wanted);
  updates_ = loop_->next_update();
  if (infeed_) infeed_->consume(done);
  if (done == wanted) used_ = used + done;
  for (const Outfeed& outfeed : outfeeds_) {
    if (done == 0 || !outfeed.queue) continue;
    Arrays values;
    for (const std::string& name : outfeed.outputs) values.push_back(loop_->output(name));
    outfeed.queue->add(values);
  }
  if (infeed_) infeed_->check_complete(what, done, wanted);
}

void LoopSegment::run(const Arrays&) { run_rows(count_, "steps"); }

void WhileSegment::finish(Computation& computation) {
  LoopSegment::finish(computation);
  condition.trace.bind(computation.variables());
  condition_program_.emplace(condition.graph, computation.target().ipus.front(), computation.variables(),
                             computation.program_options());
}

void WhileSegment::run(const Arrays&) {
  const auto goes_on = [&] { return condition_program_->step().at(condition_output).item<double>() != 0; };
  while (goes_on()) run_rows(1, "steps");
}

Explanation LoopSegment::explain(const Target& target) const {
  return {.model = "loop",
          .batch_size = infeed_ ? infeed_->batch_size() : 1,
          .ipus = 1,
          .steps_per_execution = std::max<std::int64_t>(1, count_),
          .tiles_per_ipu = target.ipus.front().tiles()};
}

std::vector<Parameter> WhileSegment::parameters() const {
  std::vector<Parameter> list = condition.trace.parameters();
  const std::vector<Parameter> body = LoopSegment::parameters();
  list.insert(list.end(), body.begin(), body.end());
  return list;
}

namespace {

std::shared_ptr<ipu::InfeedState> state_of(const std::optional<ipu::IPUInfeedQueue>& queue) {
  return queue ? queue->state() : nullptr;
}

// The values that go from step to step, as variables.
class CarriedValues {
 public:
  CarriedValues(Tracer& tracer, const std::string& who, const std::vector<Tensor>& inputs) {
    TracedGraph& before = tracer.step().traced;
    for (const Value& value : values_in(before.trace, who, inputs)) {
      names_.push_back(tracer.computation().new_carried_variable());
      types_.push_back(value.type());
      before.graph.assign(variable(before.graph, names_.size() - 1), value);
    }
  }

  std::vector<Tensor> tensors(TracedGraph& traced) const {
    std::vector<Tensor> list;
    for (std::size_t i = 0; i < names_.size(); ++i) list.emplace_back(traced.trace, variable(traced.graph, i));
    return list;
  }

  // The body is next given what it returned.
  void assign(TracedGraph& traced, const std::string& who, const std::vector<Tensor>& returned) const {
    if (returned.size() != names_.size())
      throw Error(fmt::format("{}: the body returns {} tensors but was given {}; return a new value for each", who,
                              returned.size(), names_.size()));
    const std::vector<Value> values = returned.empty() ? std::vector<Value>() : values_in(traced.trace, who, returned);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].type() != types_[i])
        throw Error(fmt::format("{}: tensor {} of the body's is {} but was given as {}; they must be the same", who, i,
                                to_string(values[i].type()), to_string(types_[i])));
      traced.graph.assign(variable(traced.graph, i), values[i]);
    }
  }

 private:
  // One node of a graph, however often it is asked for.
  Value variable(Graph& graph, std::size_t index) const {
    Value& value = variables_[{&graph, index}];
    if (!value)
      value = ops::variable(graph, names_[index], types_[index].dtype, types_[index].shape, VariableRole::carried);
    return value;
  }
  std::vector<std::string> names_;
  std::vector<Type> types_;
  mutable std::map<std::pair<const Graph*, std::size_t>, Value> variables_;
};

void trace_body(Tracer& tracer, const std::string& who, LoopSegment& loop, const TracedFunction& body,
                const CarriedValues& carried) {
  std::vector<Tensor> inputs = carried.tensors(loop.traced);
  const std::vector<Tensor> fed = loop.infeed_tensors();
  inputs.insert(inputs.end(), fed.begin(), fed.end());
  tracer.trace(loop.traced, &loop, [&] {
    const Outputs outputs = body(who, inputs);
    carried.assign(loop.traced, who, outputs.tensors());
  });
}

Outputs finish_loop(Tracer& tracer, std::unique_ptr<Segment> loop, const CarriedValues& carried) {
  tracer.computation().segments().push_back(std::move(loop));
  tracer.begin_step();
  return Outputs(carried.tensors(tracer.step().traced));
}

void trace_condition(Tracer& tracer, TracedGraph& traced, const TracedFunction& condition,
                     const CarriedValues& carried) {
  tracer.trace(traced, nullptr, [&] {
    const std::vector<Tensor> truth = condition("while_loop", carried.tensors(traced)).tensors();
    if (truth.size() != 1 || truth[0].shape().elements() != 1)
      throw Error("while_loop: the condition must return a tensor of one bool");
    traced.graph.add_output(condition_output, values_in(traced.trace, "while_loop", truth)[0]);
  });
}

}  // namespace

}  // namespace pando::tf1

namespace pando::ipu::loops {

tf1::Outputs repeat(std::int64_t count, const tf1::TracedFunction& body, const std::vector<Tensor>& inputs,
                    const std::optional<IPUInfeedQueue>& infeed_queue) {
  if (count < 0) throw Error(fmt::format("repeat: the count is {} but must not be negative", count));
  tf1::Tracer& tracer = tf1::Tracer::current("repeat");
  tracer.check_straight("repeat");
  const tf1::CarriedValues carried(tracer, "repeat", inputs);
  auto loop = std::make_unique<tf1::LoopSegment>(count, tf1::state_of(infeed_queue));
  tf1::trace_body(tracer, "repeat", *loop, body, carried);
  return tf1::finish_loop(tracer, std::move(loop), carried);
}

tf1::Outputs while_loop(const tf1::TracedFunction& condition, const tf1::TracedFunction& body,
                        const std::vector<Tensor>& inputs, const std::optional<IPUInfeedQueue>& infeed_queue) {
  tf1::Tracer& tracer = tf1::Tracer::current("while_loop");
  tracer.check_straight("while_loop");
  const tf1::CarriedValues carried(tracer, "while_loop", inputs);
  auto loop = std::make_unique<tf1::WhileSegment>(tf1::state_of(infeed_queue));
  tf1::trace_condition(tracer, loop->condition, condition, carried);
  tf1::trace_body(tracer, "while_loop", *loop, body, carried);
  return tf1::finish_loop(tracer, std::move(loop), carried);
}

}  // namespace pando::ipu::loops
