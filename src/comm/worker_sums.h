// SPDX-License-Identifier: Apache-2.0
// What workers do together: sums over the replicas of all workers, and results of all workers. Replicas are numbered
// from the first of worker 0 to the last of the last worker, and sums run in that order: the bits are those of one
// process that has all replicas.
#pragma once
#include <pando/comm/workers.h>

#include <cstdint>
#include <exception>
#include <vector>

namespace pando {

// Up to this many bytes a message costs what its start costs.
inline constexpr std::size_t bytes_sent_at_once = 16 * 1024;
// A bucket of sums is full with this many bytes: the start of its messages is then a small part of what it costs.
inline constexpr std::size_t sum_bucket_bytes = 256 * 1024;

// Memory for messages, which the caller keeps from one sum to the next.
struct SumScratch {
  std::vector<float> sent, received, sums;
};

// parts[replica][array], the same sizes on all workers. Afterwards every part has the sums, or means, over the replicas
// of all workers.
void reduce_over_workers(Workers& workers, int channel, std::span<const std::span<const std::span<float>>> parts,
                         bool mean, SumScratch& scratch);

// What every worker gave, in the order of their ranks. All give the same number of bytes.
std::vector<std::byte> gather_from_workers(Workers& workers, int channel, std::span<const std::byte> own);

// The bits that are set on any worker.
std::uint8_t bits_of_any_worker(Workers& workers, int channel, std::uint8_t here);
// What worker 0 gave.
std::vector<std::byte> from_first_worker(Workers& workers, int channel, std::vector<std::byte> own);

// Calls the function. If it throws, the other workers are told; `workers` may be null.
auto together(Workers* workers, const auto& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    if (workers != nullptr) workers->give_up(error.what());
    throw;
  }
}

// Channels: one for the sums of each stage of a pipeline, and these.
inline constexpr int result_channel = 1 << 12;
inline constexpr int agreement_channel = result_channel + 1;
inline constexpr int sums_channel = result_channel + 2;

}  // namespace pando
