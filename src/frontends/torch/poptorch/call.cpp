// SPDX-License-Identifier: Apache-2.0
// Running a call, and what it returns.
#include <algorithm>
#include <cstring>

#include "frontends/torch/poptorch/executor_state.h"
#include "model/run_loop.h"
#include "pando/base/array_functions.h"

namespace pando::poptorch {

namespace {

// Turns [batches, ...] into what a call returns: samples of all batches along axis 0, or a number for each batch.
Array flattened(const Array& batches, const Type& of_batch) {
  if (of_batch.shape.rank() == 0) return batches;
  return batches.reshape(
      joined({batches.shape()[0] * of_batch.shape[0]}, of_batch.shape.part(1, of_batch.shape.rank())));
}

}  // namespace

PoplarExecutor::State::Call PoplarExecutor::State::prepared(const std::vector<Type>& inputs) {
  const std::int64_t samples = samples_of(inputs), row = micro_batch() * options.state().all_replicas();
  const std::int64_t used_rows = (samples + row - 1) / row;
  const bool masked = samples != used_rows * row;
  if (masked && !masked_step) masked_step.emplace(make_step(compiled_for, true));
  return {masked ? *masked_step : *step, samples, used_rows, step->is_whole && rows() == 1 && !masked};
}

void PoplarExecutor::State::run_step(const Call& call, const Arrays& inputs) {
  std::int64_t call_updates = 1;
  if (call.is_single) single_outputs = call.step.run_once(inputs, updates);
  else {
    call.step.check_indices(inputs);
    RunLoop loop(call.step, inputs.empty() ? nullptr : array_batches(inputs, micro_batch(), false, false), updates);
    loop.run(micro_batches());
    call_updates = loop.updates();
  }
  if (optimizer) updates += call_updates;
}

PoplarExecutor::State::Parts PoplarExecutor::State::real_parts(const Call& call, std::size_t output,
                                                               std::int64_t batches, std::int64_t samples) const {
  const std::int64_t size = micro_batch();
  // Takes all of them: whether there are parts for samples does not matter.
  if (samples == batches * size) return {1, 1};
  if (call.step.has_rows[output]) return {samples, batches * size};
  return {(samples + size - 1) / size, batches};
}

Array PoplarExecutor::State::returned(const Call& call, std::size_t output, const Array& rows_of,
                                      std::int64_t samples) const {
  const Type& type = call.step.outputs[output];
  const std::int64_t batches = rows_of.shape()[0] * options.state().all_replicas();
  const Array all = flattened(rows_of.reshape(joined({batches}, type.shape)), type);
  const auto [real, parts] = real_parts(call, output, batches, samples);
  return real == parts ? all : all.slice(0, all.shape()[0] / parts * real);
}

Array PoplarExecutor::State::summed(const Call& call, std::size_t output, const Array& rows_of) const {
  const std::int64_t replicas = options.state().all_replicas(), row = micro_batch() * replicas;
  Array counted = rows_of.clone();
  // The outputs of copied samples are at the end.
  const auto [real, parts] =
      real_parts(call, output, replicas, std::min(row, call.samples - (rows_of.shape()[0] - 1) * row));
  const std::size_t last = counted.bytes() / static_cast<std::size_t>(rows_of.shape()[0]);
  const std::size_t copies = last / static_cast<std::size_t>(parts) * static_cast<std::size_t>(parts - real);
  std::memset(counted.mutable_raw() + counted.bytes() - copies, 0, copies);
  const Array total = sum(counted, 0, true).astype(call.step.outputs[output].dtype);
  return returned(call, output, total, std::min(row, call.samples));
}

Array PoplarExecutor::State::collected(const Call& call, std::size_t output) const {
  const Type& type = call.step.outputs[output];
  const std::int64_t replicas = options.state().all_replicas(), row = micro_batch() * replicas;
  if (call.is_single) {
    const Array& value = single_outputs[output];
    return output_mode() == OutputMode::All && type.shape.rank() == 0 ? value.reshape({1}) : value;
  }
  // [rows, replicas, ...], all of them or the last.
  const Array found = call.step.program.output(output_name(output));
  const std::int64_t count = found.elements() / std::max<std::int64_t>(1, type.shape.elements() * replicas);
  const Array rows_of = found.reshape(joined({count, replicas}, type.shape));
  const auto of_replicas = [&](const Array& result) {
    return replicas == 1 && type.shape.rank() == 0 ? result.reshape({}) : result;
  };
  switch (output_mode()) {
    case OutputMode::Sum: return of_replicas(summed(call, output, rows_of));
    case OutputMode::EveryN: {
      const std::int64_t period = options.state().output_period;
      std::vector<std::int64_t> chosen;
      for (std::int64_t number = period; number <= count; number += period) chosen.push_back(number - 1);
      // Only the last row may have fewer samples.
      const std::int64_t missing = count % period == 0 ? count * row - call.samples : 0;
      return returned(call, output, take(rows_of, chosen), static_cast<std::int64_t>(chosen.size()) * row - missing);
    }
    case OutputMode::Final:
      return of_replicas(returned(call, output, rows_of.slice(count - 1, count), call.samples - (call.rows - 1) * row));
    default: return returned(call, output, rows_of, call.samples);
  }
}

}  // namespace pando::poptorch
