// SPDX-License-Identifier: Apache-2.0
// The formulas follow reduce_over_workers and reduce_on_device step by step: what is packed, sent, added, sent back and
// written.
#include "comm/sum_cost.h"

#include <algorithm>

#include "comm/worker_sums.h"

namespace pando {

double round_seconds(const NetworkCost& network, int workers, double bytes) {
  const double others = workers - 1;
  return others < 1 ? 0 : network.latency + (others - 1) * network.per_message + others * bytes / network.bandwidth;
}

double sum_seconds(const NetworkCost& network, int workers, int replicas, std::size_t bytes) {
  if (workers < 2 || bytes == 0) return 0;
  const double all = workers, here = replicas, numbers = static_cast<double>(bytes);
  if (bytes <= bytes_sent_at_once) {
    // Packed, sent to all, added by all, written.
    const double copied = (here + here * all + here) * numbers;
    return round_seconds(network, workers, here * numbers) + copied / network.copies;
  }
  // Packed but for the own share, added by shares, and written. The two rounds carry the numbers of the replicas and
  // their sums.
  const double copied = (1 - 1 / all + 2) * here * numbers;
  return round_seconds(network, workers, here * numbers / all) + round_seconds(network, workers, numbers / all) +
         copied / network.copies;
}

double device_sum_seconds(const NetworkCost& network, int workers, int replicas, std::size_t bytes) {
  if (workers < 2 || bytes == 0) return 0;
  const double all = workers, here = replicas, numbers = static_cast<double>(bytes);
  const auto round = [&](double to_each) { return network.latency + (all - 1) * to_each / network.bandwidth; };
  // Packed, added up and written.
  if (bytes <= bytes_sent_at_once) return round(here * numbers) + (2 + all) * here * numbers / network.copies;
  return round(here * numbers / all) + round(numbers / all) + 3 * here * numbers / network.copies;
}

SumTimes bucket_seconds(const NetworkCost& network, int workers, int replicas, std::size_t bytes, std::size_t bucket,
                        double backward) {
  const std::size_t count = std::max<std::size_t>(1, (bytes + bucket - 1) / bucket);
  SumTimes times;
  // When the last bucket so far has its sums, from the first gradient on.
  double done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = bytes * (i + 1) / count - bytes * i / count;
    const double ready = backward * static_cast<double>(i + 1) / static_cast<double>(count);
    const double seconds = sum_seconds(network, workers, replicas, size);
    times.all += seconds;
    done = std::max(done, ready) + seconds;
  }
  times.after = done - backward;
  return times;
}

}  // namespace pando
