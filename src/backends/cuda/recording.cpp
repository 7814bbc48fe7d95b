// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/recording.h"

#include <cmath>

namespace pando::cuda {

std::vector<CallTime> divide_time(std::int64_t begin, std::int64_t end, std::span<const CallCycles> calls) {
  double all = 0;
  for (const CallCycles& call : calls) all += call.cycles;
  const bool is_equal = all <= 0;
  if (is_equal) all = static_cast<double>(calls.size());
  std::vector<CallTime> times;
  double done = 0;
  for (const CallCycles& call : calls) {
    done += is_equal ? 1 : call.cycles;
    const std::int64_t from = times.empty() ? begin : times.back().end;
    times.push_back({call.number, from, begin + std::llround(static_cast<double>(end - begin) * (done / all))});
  }
  return times;
}

}  // namespace pando::cuda
