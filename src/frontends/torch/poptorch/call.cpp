// Running a call.
#include <algorithm>
#include <cstring>

#include "frontends/torch/poptorch/executor_state.h"
#include "pando/base/array_functions.h"

namespace pando::poptorch {

namespace {

// Repeats the first sample after the others.
Array filled_up(const Array& samples, std::int64_t count) {
  const std::int64_t missing = count - samples.shape()[0];
  if (missing == 0) return samples;
  return concatenate({samples, take(samples, Integers(static_cast<std::size_t>(missing), 0))});
}

Array mask_of(std::int64_t real, std::int64_t count) {
  Array mask(DType::float32, {count});
  std::fill_n(mask.mutable_data<float>(), real, 1.0F);
  return mask;
}

}  // namespace

PoplarExecutor::State::Call PoplarExecutor::State::prepared(const Arrays& inputs) {
  const std::int64_t samples = samples_of(types_of(inputs)), row = micro_batch() * options.state().replicas;
  const std::int64_t used_rows = (samples + row - 1) / row, room = used_rows * row;
  const bool masked = samples != room;
  if (masked && !masked_step) masked_step.emplace(make_step(compiled_for, true));
  Call call{masked ? *masked_step : *step, {}, samples, used_rows};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    call.feeds.emplace(input_feed(i), masked ? filled_up(inputs[i], room) : inputs[i]);
  if (masked) call.feeds.emplace(mask_feed, mask_of(samples, room));
  return call;
}

FillFeeds PoplarExecutor::State::filler(const Call& call) const {
  const std::int64_t replicas = options.state().replicas, total = call.rows;
  std::vector<const Array*> sources;
  for (const PortInfo& feed : call.step.program.feeds()) sources.push_back(&call.feeds.at(feed.name));
  return [=](std::int64_t row, std::span<std::byte* const> memory) {
    if (row >= total) return false;
    for (std::int64_t r = 0; r < replicas; ++r)
      for (std::size_t f = 0; f < sources.size(); ++f) {
        std::byte* to = memory[static_cast<std::size_t>(r) * sources.size() + f];
        const std::size_t bytes = sources[f]->bytes() / static_cast<std::size_t>(total * replicas);
        std::memcpy(to, sources[f]->raw() + static_cast<std::size_t>(row * replicas + r) * bytes, bytes);
      }
    return true;
  };
}

void PoplarExecutor::State::run_once(const Call& call) {
  std::vector<const std::byte*> feeds;
  for (const PortInfo& feed : call.step.program.feeds()) feeds.push_back(call.feeds.at(feed.name).raw());
  single_outputs.clear();
  std::vector<std::byte*> outputs;
  for (const PortInfo& output : call.step.program.outputs())
    outputs.push_back(
        single_outputs.emplace_back(Array::uninitialised(output.type.dtype, output.type.shape)).mutable_raw());
  call.step.program.step(feeds, outputs, updates);
}

void PoplarExecutor::State::run_step(const Call& call) {
  const std::int64_t call_updates = optimizer ? (call.rows + accumulation() - 1) / accumulation() : 1;
  if (call.step.is_whole && rows() == 1) run_once(call);
  else {
    Feed feed(call.step.program, filler(call));
    call.step.program.run({.rows = call.rows, .first_update = updates}, feed);
  }
  if (optimizer) updates += call_updates;
}

}  // namespace pando::poptorch
