#include "frontends/tf1/loops.h"

#include <fmt/format.h>

#include <cstring>

#include "pando/array_functions.h"

namespace pando::ipu {

InfeedState::InfeedState(const data::Dataset& dataset)
    : dataset(dataset), types(tf1::element_types("IPUInfeedQueue", dataset)) {}

void InfeedState::initialise() {
  const std::lock_guard lock(mutex_);
  iterator_.emplace(dataset.iterator());
  ahead_.clear();
  failure_ = nullptr;
  consumed_ = 0;
  ++generation_;
}

void InfeedState::check_initialised(const std::string& who) const {
  const std::lock_guard lock(mutex_);
  if (!iterator_)
    throw Error(fmt::format("{}: the infeed queue is not initialised; run its initializer() before", who));
}

std::optional<data::Element> InfeedState::element(std::int64_t generation, std::int64_t index) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_ || index < consumed_) return std::nullopt;
  while (consumed_ + static_cast<std::int64_t>(ahead_.size()) <= index) {
    std::optional<data::Element> next = next_element();
    if (!next) return std::nullopt;
    ahead_.push_back(std::move(*next));
  }
  return ahead_[static_cast<std::size_t>(index - consumed_)];
}

std::optional<data::Element> InfeedState::next_element() try {
  if (failure_) return std::nullopt;
  std::optional<data::Element> next = iterator_->next();
  for (std::size_t i = 0; next && i < next->size(); ++i)
    if (const Type type = type_of((*next)[i]); type != types[i])
      throw Error(
          fmt::format("IPUInfeedQueue: column {} of the data set is {} but was {} in the first element; "
                      "batch it with drop_remainder",
                      i, to_string(type), to_string(types[i])));
  return next;
} catch (...) {
  failure_ = std::current_exception();
  return std::nullopt;
}

void InfeedState::check_complete(const std::string& what, std::int64_t done, std::int64_t count) const {
  if (done == count) return;
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  throw Error(
      fmt::format("run: the infeed queue has ended after {} of {} {}; repeat() the data set, or run its "
                  "initializer() to begin again",
                  done, count, what));
}

void InfeedState::consume(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  consumed_ += count;
  for (std::int64_t i = 0; i < count && !ahead_.empty(); ++i) ahead_.pop_front();
}

IPUInfeedQueue::IPUInfeedQueue(const data::Dataset& dataset) : state_(std::make_shared<InfeedState>(dataset)) {}

tf1::Operation IPUInfeedQueue::initializer() const {
  return tf1::Operation(std::make_shared<const tf1::OperationState>(
      tf1::OperationState{[state = state_](tf1::Session::State&) { state->initialise(); }}));
}

void OutfeedState::add(const Arrays& values) {
  // All but the number of steps.
  const auto types = [](const Arrays& arrays) {
    std::vector<Type> list;
    for (const Array& array : arrays) list.push_back({array.dtype(), array.slice(0, 1).shape()});
    return list;
  };
  if (!runs.empty() && types(runs.front()) != types(values))
    throw Error("run: two loops put different tensors into one outfeed queue; give each a queue of its own");
  if (mode == IPUOutfeedMode::LAST) {
    runs.clear();
    Arrays last;
    for (const Array& value : values) last.push_back(value.slice(value.shape()[0] - 1, value.shape()[0]));
    runs.push_back(std::move(last));
  } else runs.push_back(values);
}

IPUOutfeedQueue::IPUOutfeedQueue(const OutfeedOptions& options)
    : state_(std::make_shared<OutfeedState>(OutfeedState{options.outfeed_mode})) {}

tf1::Operation IPUOutfeedQueue::enqueue(const std::vector<Tensor>& tensors) const {
  tf1::Tracer& tracer = tf1::Tracer::current("IPUOutfeedQueue");
  tf1::LoopSegment* loop = tracer.loop();
  if (loop == nullptr)
    throw Error("IPUOutfeedQueue: enqueue belongs into the body of a loop; return tensors from straight code instead");
  loop->add_outfeed(state_, values_in(loop->traced.trace, "enqueue", tensors));
  return {};
}

tf1::Fetch IPUOutfeedQueue::dequeue() const {
  return tf1::Fetch([state = state_](tf1::Evaluation&) {
    if (state->runs.empty())
      throw Error("dequeue: the outfeed queue is empty; run a loop that puts something into it before");
    const std::vector<Arrays> runs = std::exchange(state->runs, {});
    Arrays result;
    for (std::size_t column = 0; column < runs[0].size(); ++column) {
      Arrays parts;
      for (const Arrays& run : runs) parts.push_back(run[column]);
      const Array all = parts.size() == 1 ? parts[0] : concatenate(parts);
      result.push_back(state->mode == IPUOutfeedMode::LAST ? squeeze(all, 0) : all);
    }
    return result;
  });
}

}  // namespace pando::ipu

namespace pando::tf1 {

namespace {

constexpr const char* condition_output = "continue";

}  // namespace

InfeedPorts::InfeedPorts(const std::vector<PortInfo>& feeds, std::shared_ptr<ipu::InfeedState> infeed)
    : infeed_(std::move(infeed)) {
  for (const PortInfo& feed : feeds) {
    int column = -1;
    for (std::size_t i = 0; infeed_ && i < infeed_->types.size(); ++i)
      if (feed.name == name(i)) column = static_cast<int>(i);
    column_of_feed_.push_back(column);
  }
}

std::string InfeedPorts::name(std::size_t column) { return fmt::format("infeed{}", column); }

void InfeedPorts::write(const data::Element& element, std::int64_t update, std::int64_t sample,
                        std::span<std::byte* const> feeds) const {
  for (std::size_t i = 0; i < column_of_feed_.size(); ++i) {
    const std::int32_t counter[2] = {static_cast<std::int32_t>(update), static_cast<std::int32_t>(sample)};
    if (column_of_feed_[i] < 0) std::memcpy(feeds[i], counter, sizeof counter);
    else {
      const Array& column = element[static_cast<std::size_t>(column_of_feed_[i])];
      std::memcpy(feeds[i], column.raw(), column.bytes());
    }
  }
}

void LoopSegment::add_outfeed(const std::shared_ptr<ipu::OutfeedState>& queue, const std::vector<Value>& values) {
  Outfeed outfeed{queue, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    outfeed.outputs.push_back(fmt::format("outfeed{}/{}", outfeeds_.size(), i));
    traced.graph.add_output(outfeed.outputs.back(), values[i], true);
  }
  outfeeds_.push_back(std::move(outfeed));
}

void LoopSegment::finish(Computation& computation) {
  traced.trace.bind(computation.variables());
  program_.emplace(traced.graph, computation.target().ipus.front(), computation.variables());
}

void LoopSegment::begin_feed() {
  const InfeedPorts ports(program_->feeds(), infeed_);
  feed_.reset();
  const std::int64_t first_update = updates_;
  const std::int64_t first = infeed_ ? infeed_->consumed() : 0, generation = infeed_ ? infeed_->generation() : 0;
  feed_.emplace(*program_, [=, infeed = infeed_](std::int64_t step, std::span<std::byte* const> feeds) {
    std::optional<data::Element> element = data::Element();
    if (infeed) element = infeed->element(generation, first + step);
    if (!element) return false;
    ports.write(*element, first_update + step, 0, feeds);
    return true;
  });
  next_element_ = first;
  next_update_ = first_update;
  generation_ = generation;
}

void LoopSegment::run_steps(std::int64_t count) {
  std::int64_t done = 0;
  if (infeed_) infeed_->check_initialised("run");
  if (program_->feeds().empty() && !infeed_) done = program_->run(count);
  else {
    // Another loop may have taken elements in between, or everything begins anew.
    const bool fits = feed_ && next_update_ == updates_ &&
                      (!infeed_ || (next_element_ == infeed_->consumed() && generation_ == infeed_->generation()));
    if (!fits) begin_feed();
    done = program_->run(count, *feed_);
    if (infeed_) infeed_->consume(done);
    next_element_ += done;
    next_update_ += done;
  }
  updates_ += done;
  if (done < count) feed_.reset();
  for (const Outfeed& outfeed : outfeeds_) {
    if (done == 0) break;
    Arrays values;
    for (const std::string& name : outfeed.outputs) values.push_back(program_->output(name));
    outfeed.queue->add(values);
  }
  if (infeed_) infeed_->check_complete("steps", done, count);
}

void LoopSegment::run(const Arrays&) { run_steps(count_); }

void WhileSegment::finish(Computation& computation) {
  LoopSegment::finish(computation);
  condition.trace.bind(computation.variables());
  condition_program_.emplace(condition.graph, computation.target().ipus.front(), computation.variables());
}

void WhileSegment::run(const Arrays&) {
  const auto goes_on = [&] { return condition_program_->step().at(condition_output).item<double>() != 0; };
  while (goes_on()) run_steps(1);
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
      names_.push_back(tracer.computation().new_variable(Computation::carried));
      types_.push_back(value.type());
      before.graph.assign(variable(before.graph, names_.size() - 1), value);
    }
  }

  std::vector<Tensor> tensors(TracedGraph& traced) const {
    std::vector<Tensor> list;
    for (std::size_t i = 0; i < names_.size(); ++i) list.emplace_back(traced.trace, variable(traced.graph, i));
    return list;
  }

  // What the body returned becomes what it is given next.
  void assign(TracedGraph& traced, const std::string& who, const std::vector<Tensor>& returned) const {
    if (returned.size() != names_.size())
      throw Error(fmt::format("{}: the body returns {} tensors but was given {}; return a new value for each", who,
                              returned.size(), names_.size()));
    const std::vector<Value> values = returned.empty() ? std::vector<Value>() : values_in(traced.trace, who, returned);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].type() != types_[i])
        throw Error(fmt::format("{}: tensor {} of the body's is {} but was given as {}; they must be alike", who, i,
                                to_string(values[i].type()), to_string(types_[i])));
      traced.graph.assign(variable(traced.graph, i), values[i]);
    }
  }

 private:
  // One node of a graph, however often it is asked for.
  Value variable(Graph& graph, std::size_t index) const {
    Value& value = variables_[{&graph, index}];
    if (!value) value = ops::variable(graph, names_[index], types_[index].dtype, types_[index].shape);
    return value;
  }
  std::vector<std::string> names_;
  std::vector<Type> types_;
  mutable std::map<std::pair<const Graph*, std::size_t>, Value> variables_;
};

std::vector<Tensor> infeed_tensors(TracedGraph& traced, const std::shared_ptr<ipu::InfeedState>& infeed) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; infeed && i < infeed->types.size(); ++i)
    tensors.emplace_back(
        traced.trace, ops::input(traced.graph, InfeedPorts::name(i), infeed->types[i].dtype, infeed->types[i].shape));
  return tensors;
}

void trace_body(Tracer& tracer, const std::string& who, LoopSegment& loop, const TracedFunction& body,
                const CarriedValues& carried, const std::shared_ptr<ipu::InfeedState>& infeed) {
  std::vector<Tensor> inputs = carried.tensors(loop.traced);
  const std::vector<Tensor> fed = infeed_tensors(loop.traced, infeed);
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
  tf1::trace_body(tracer, "repeat", *loop, body, carried, tf1::state_of(infeed_queue));
  return tf1::finish_loop(tracer, std::move(loop), carried);
}

tf1::Outputs while_loop(const tf1::TracedFunction& condition, const tf1::TracedFunction& body,
                        const std::vector<Tensor>& inputs, const std::optional<IPUInfeedQueue>& infeed_queue) {
  tf1::Tracer& tracer = tf1::Tracer::current("while_loop");
  tracer.check_straight("while_loop");
  const tf1::CarriedValues carried(tracer, "while_loop", inputs);
  auto loop = std::make_unique<tf1::WhileSegment>(tf1::state_of(infeed_queue));
  tf1::trace_condition(tracer, loop->condition, condition, carried);
  tf1::trace_body(tracer, "while_loop", *loop, body, carried, tf1::state_of(infeed_queue));
  return tf1::finish_loop(tracer, std::move(loop), carried);
}

}  // namespace pando::ipu::loops
