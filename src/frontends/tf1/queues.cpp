// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/queues.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>

#include "frontends/tf1/loops.h"
#include "pando/base/array_functions.h"

namespace pando::ipu {

InfeedState::InfeedState(const data::Dataset& dataset)
    : DataSource(dataset), types(tf1::element_types("IPUInfeedQueue", dataset)) {}

void InfeedState::go_on_with(std::optional<DatasetPass> pass) {
  const std::lock_guard lock(mutex_);
  pass_ = std::move(pass);
  ahead_.clear();
  failure_ = nullptr;
  ++generation_;
}

std::optional<DataPosition> InfeedState::position() const {
  const std::lock_guard lock(mutex_);
  return pass_ ? std::optional(position_of(dataset, *pass_)) : std::nullopt;
}

void InfeedState::check_initialised(const std::string& who) const {
  const std::lock_guard lock(mutex_);
  if (!pass_) throw Error(fmt::format("{}: the infeed queue is not initialised; run its initializer() first", who));
}

std::optional<data::Element> InfeedState::element(std::int64_t generation, std::int64_t index) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_ || index < pass_->used) return std::nullopt;
  while (pass_->used + static_cast<std::int64_t>(ahead_.size()) <= index) {
    std::optional<data::Element> next = next_element();
    if (!next) return std::nullopt;
    ahead_.push_back(std::move(*next));
  }
  return ahead_[static_cast<std::size_t>(index - pass_->used)];
}

std::optional<data::Element> InfeedState::next_element() try {
  if (failure_) return std::nullopt;
  std::optional<data::Element> next = pass_->iterator.next();
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
  throw OutOfRange(
      fmt::format("run: the infeed queue has ended after {} of {} {}; repeat() the data set, or run its "
                  "initializer() to begin again",
                  done, count, what));
}

void InfeedState::consume(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  pass_->used += count;
  for (std::int64_t i = 0; i < count && !ahead_.empty(); ++i) ahead_.pop_front();
}

IPUInfeedQueue::IPUInfeedQueue(const data::Dataset& dataset) : state_(std::make_shared<InfeedState>(dataset)) {
  tf1::DefaultGraph::current().add("IPUInfeedQueue", state_);
}

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
    throw Error("run: two loops put different tensors into one outfeed queue; give each its own queue");
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
    throw Error("IPUOutfeedQueue: enqueue belongs in the body of a loop; return tensors from straight code instead");
  loop->add_outfeed(state_, values_in(loop->traced.trace, "enqueue", tensors));
  return {};
}

tf1::Fetch IPUOutfeedQueue::dequeue() const {
  return tf1::Fetch([state = state_](tf1::Evaluation&) {
    if (state->runs.empty())
      throw Error("dequeue: the outfeed queue is empty; first run a loop that puts something into it");
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

std::string infeed_name(std::size_t column) { return fmt::format("infeed{}", column); }

InfeedBatches::InfeedBatches(std::shared_ptr<ipu::InfeedState> infeed)
    : infeed_(std::move(infeed)), first_(infeed_->consumed()), generation_(infeed_->generation()), next_(first_) {}

std::int64_t InfeedBatches::next(std::int64_t limit, std::span<std::byte* const> columns) {
  const std::optional<data::Element> element = infeed_->element(generation_, next_++);
  if (!element) return 0;
  for (std::size_t i = 0; i < element->size(); ++i)
    if (columns[i] != nullptr) std::memcpy(columns[i], (*element)[i].raw(), (*element)[i].bytes());
  return limit;
}

bool InfeedBatches::fits(std::int64_t used) const {
  return infeed_->generation() == generation_ && infeed_->consumed() == first_ + used;
}

}  // namespace pando::tf1
