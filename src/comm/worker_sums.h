// SPDX-License-Identifier: Apache-2.0
// What workers do together: sums over the replicas of all workers, and results of all workers. Replicas are numbered
// from the first of worker 0 to the last of the last worker, and sums run in that order: the bits are those of one
// process that has all replicas.
#pragma once
#include <pando/comm/workers.h>

#include <vector>

namespace pando {

// parts[replica][array], the same sizes on all workers. Afterwards every part has the sums, or means, over the replicas
// of all workers.
void reduce_over_workers(Workers& workers, int channel, std::span<const std::span<const std::span<float>>> parts,
                         bool mean);

// What every worker gave, in the order of their ranks. All give the same number of bytes.
std::vector<std::byte> gather_from_workers(Workers& workers, int channel, std::span<const std::byte> own);

// Whether it is true on any worker.
bool any_worker(Workers& workers, int channel, bool here);

// Channels: one for the sums of each stage of a pipeline, and these.
inline constexpr int result_channel = 1 << 12;
inline constexpr int agreement_channel = result_channel + 1;

}  // namespace pando
