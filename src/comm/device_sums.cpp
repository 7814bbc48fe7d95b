// SPDX-License-Identifier: Apache-2.0
// Shares have equal sizes, so that a device needs no other messages than all-gather and all-to-all; the last one is
// filled up with numbers that do not count.
#include "comm/device_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "base/notice.h"
#include "comm/worker_sums.h"

namespace pando {

namespace {

using Arrays = std::span<const std::span<float>>;
using Room = SumDevice::Room;

// Calls copy(array, done, count) for the pieces of arrays that have the numbers first, first + 1, ... of all of them.
void walk_pieces(Arrays arrays, std::size_t first, std::size_t count, const auto& copy) {
  std::size_t done = 0;
  for (const std::span<float>& array : arrays) {
    if (done == count) return;
    if (first >= array.size()) {
      first -= array.size();
      continue;
    }
    const std::size_t piece = std::min(array.size() - first, count - done);
    copy(array.data() + first, done, piece);
    done += piece;
    first = 0;
  }
}

void pack_part(SumDevice& device, Arrays arrays, std::size_t first, std::size_t count, float* to) {
  walk_pieces(arrays, first, count,
              [&](float* piece, std::size_t done, std::size_t size) { device.copy(to + done, piece, size); });
}

void unpack_sums(SumDevice& device, Arrays arrays, std::size_t count, const float* from) {
  walk_pieces(arrays, 0, count,
              [&](float* piece, std::size_t done, std::size_t size) { device.copy(piece, from + done, size); });
}

// Once for each way.
void tell_way(const std::string& problem) {
  static std::mutex mutex;
  static std::set<std::string> told;
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(problem).second) return;
  }
  notify("workers", problem.empty() ? "The GPUs of the workers add up gradients among themselves (NCCL)."
                                    : "The sums of GPUs go through the host: " + problem + ".");
}

}  // namespace

void reduce_on_device(SumDevice& device, std::span<const std::span<const std::span<float>>> parts, bool mean) {
  std::size_t numbers = 0;
  for (const std::span<float>& array : parts.front()) numbers += array.size();
  if (numbers == 0) return;
  const std::size_t replicas = parts.size(), workers = static_cast<std::size_t>(device.count());
  const std::size_t rows = workers * replicas;
  const float scale = mean ? 1.0f / static_cast<float>(rows) : 1.0f;
  const float* sums = nullptr;
  if (numbers * sizeof(float) <= bytes_sent_at_once) {
    // [replica][number], and that of every worker, which each adds up by itself.
    float* const packed = device.room(Room::packed, replicas * numbers);
    float* const received = device.room(Room::received, rows * numbers);
    float* const added = device.room(Room::sums, numbers);
    for (std::size_t r = 0; r < replicas; ++r) pack_part(device, parts[r], 0, numbers, packed + r * numbers);
    device.all_gather(packed, received, replicas * numbers);
    device.add(received, rows, numbers, scale, added);
    sums = added;
  } else {
    // [worker][replica][number of its share].
    const std::size_t share = (numbers + workers - 1) / workers;
    float* const packed = device.room(Room::packed, rows * share);
    float* const received = device.room(Room::received, rows * share);
    float* const added = device.room(Room::sums, share);
    for (std::size_t w = 0; w < workers; ++w)
      for (std::size_t r = 0; r < replicas; ++r) {
        const std::size_t first = std::min(numbers, w * share);
        pack_part(device, parts[r], first, std::min(share, numbers - first), packed + (w * replicas + r) * share);
      }
    device.all_to_all(packed, received, replicas * share);
    device.add(received, rows, share, scale, added);
    // What was sent is free now, and has room for the sums of all shares.
    device.all_gather(added, packed, share);
    sums = packed;
  }
  for (const Arrays& arrays : parts) unpack_sums(device, arrays, numbers, sums);
  device.finish();
}

SumOffer SumOffer::refusal(const std::string& why, bool is_far) {
  SumOffer offer{.is_far = is_far ? 1 : 0};
  std::copy_n(why.begin(), std::min(why.size(), offer.problem.size() - 1), offer.problem.begin());
  return offer;
}

std::string why_not_connected(std::span<const SumOffer> offers) {
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const SumOffer& offer = offers[i];
    if (offer.problem[0] != 0) return fmt::format("worker {}: {}", i, offer.problem.data());
    if (offer.version != offers[0].version)
      return fmt::format("workers 0 and {} have different versions of NCCL; install the same on all machines", i);
    for (std::size_t before = 0; before < i; ++before)
      if (offers[before].device == offer.device)
        return fmt::format(
            "workers {} and {} share a GPU; start at most as many workers on a machine as it has GPUs, or give each "
            "its own with CUDA_VISIBLE_DEVICES",
            before, i);
  }
  return "";
}

std::vector<std::unique_ptr<SumDevice>> connect_devices(const std::shared_ptr<Workers>& workers,
                                                        std::span<SumLink* const> links) {
  std::vector<std::unique_ptr<SumDevice>> devices(links.size());
  std::vector<SumOffer> own, all(links.size() * static_cast<std::size_t>(workers->count()));
  for (const SumLink* link : links)
    own.push_back(link == nullptr ? SumOffer::refusal("its device works in the memory of the host", false)
                                  : link->offer());
  const std::vector<std::byte> bytes = gather_from_workers(*workers, sums_channel, std::as_bytes(std::span(own)));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  for (std::size_t stage = 0; stage < links.size(); ++stage) {
    std::vector<SumOffer> offers;
    for (std::size_t worker = 0; worker * links.size() < all.size(); ++worker)
      offers.push_back(all[worker * links.size() + stage]);
    const std::string problem = why_not_connected(offers);
    if (problem.empty()) devices[stage] = links[stage]->connect(workers, static_cast<int>(stage));
    const bool any_far = std::any_of(offers.begin(), offers.end(), [](const auto& one) { return one.is_far != 0; });
    if (any_far && workers->rank() == 0) tell_way(problem);
  }
  return devices;
}

}  // namespace pando
