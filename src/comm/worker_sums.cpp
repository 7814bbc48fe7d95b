// SPDX-License-Identifier: Apache-2.0
// Each worker adds up one share of the numbers: it receives that share of every replica, adds in the order of the
// replicas, and sends the sums to all. Few numbers go to every worker at once instead, which saves a round.
#include "comm/worker_sums.h"

#include <algorithm>

namespace pando {

namespace {

using Parts = std::span<const std::span<const std::span<float>>>;

std::span<const std::byte> bytes_of(std::span<const float> numbers) { return std::as_bytes(numbers); }

// The numbers of a replica as one sequence, over the borders of its arrays.
class Sequence {
 public:
  explicit Sequence(std::span<const std::span<float>> arrays) : arrays_(arrays) {}

  std::size_t size() const {
    std::size_t count = 0;
    for (const auto& array : arrays_) count += array.size();
    return count;
  }
  void read(std::size_t first, std::span<float> numbers) const {
    walk(first, numbers.size(), [&](std::size_t done, std::span<float> piece) {
      std::copy(piece.begin(), piece.end(), numbers.begin() + static_cast<std::ptrdiff_t>(done));
    });
  }
  void write(std::size_t first, std::span<const float> numbers) const {
    walk(first, numbers.size(), [&](std::size_t done, std::span<float> piece) {
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(done), piece.size(), piece.begin());
    });
  }

 private:
  void walk(std::size_t first, std::size_t count, const auto& visit) const {
    std::size_t done = 0;
    for (const auto& array : arrays_) {
      if (first >= array.size()) {
        first -= array.size();
        continue;
      }
      const std::size_t piece = std::min(array.size() - first, count - done);
      visit(done, array.subspan(first, piece));
      done += piece;
      first = 0;
      if (done == count) return;
    }
  }

  std::span<const std::span<float>> arrays_;
};

// The borders of the share of each worker.
struct Shares {
  std::size_t numbers;
  int workers;
  std::size_t first(int worker) const {
    return numbers * static_cast<std::size_t>(worker) / static_cast<std::size_t>(workers);
  }
  std::size_t size(int worker) const { return first(worker + 1) - first(worker); }
};

// [replica][number]: the numbers first, first + 1, ... of each replica here.
std::vector<float> packed(Parts parts, std::size_t first, std::size_t count) {
  std::vector<float> numbers(parts.size() * count);
  for (std::size_t replica = 0; replica < parts.size(); ++replica)
    Sequence(parts[replica]).read(first, std::span(numbers).subspan(replica * count, count));
  return numbers;
}

// The sums of count numbers over parts of [replica][number], one part for each worker.
std::vector<float> added(const std::vector<std::vector<float>>& of_worker, std::size_t count, bool mean) {
  std::vector<float> sums(count);
  std::size_t replicas = 0;
  for (const std::vector<float>& part : of_worker)
    for (std::size_t i = 0; i < part.size(); i += count) {
      ++replicas;
      for (std::size_t j = 0; j < count; ++j) sums[j] += part[i + j];
    }
  const float scale = mean ? 1.0f / static_cast<float>(replicas) : 1.0f;
  for (float& sum : sums) sum *= scale;
  return sums;
}

// Sends to_worker[i] to worker i and returns what each worker sent, with this worker's own part in its place.
std::vector<std::vector<float>> swapped(Workers& workers, int channel, std::vector<std::vector<float>> to_worker,
                                        std::size_t expected) {
  const auto rank = static_cast<std::size_t>(workers.rank());
  std::vector<std::vector<float>> from_worker(to_worker.size());
  std::vector<Workers::Sent> sent;
  std::vector<Workers::Received> received;
  for (std::size_t i = 0; i < to_worker.size(); ++i) {
    if (i == rank) continue;
    from_worker[i].resize(expected);
    if (!to_worker[i].empty()) sent.push_back({static_cast<int>(i), bytes_of(to_worker[i])});
    if (expected > 0) received.push_back({static_cast<int>(i), std::as_writable_bytes(std::span(from_worker[i]))});
  }
  workers.exchange(channel, sent, received);
  from_worker[rank] = std::move(to_worker[rank]);
  return from_worker;
}

void reduce_at_once(Workers& workers, int channel, Parts parts, std::size_t count, bool mean) {
  const std::vector<float> own = packed(parts, 0, count);
  const auto all =
      swapped(workers, channel, std::vector(static_cast<std::size_t>(workers.count()), own), parts.size() * count);
  const std::vector<float> sums = added(all, count, mean);
  for (const auto& part : parts) Sequence(part).write(0, sums);
}

void reduce_by_shares(Workers& workers, int channel, Parts parts, const Shares& shares, bool mean) {
  const int rank = workers.rank();
  std::vector<std::vector<float>> to_worker;
  for (int i = 0; i < shares.workers; ++i) to_worker.push_back(packed(parts, shares.first(i), shares.size(i)));
  const std::vector<float> own =
      added(swapped(workers, channel, std::move(to_worker), parts.size() * shares.size(rank)), shares.size(rank), mean);

  std::vector<std::vector<float>> sums(static_cast<std::size_t>(shares.workers));
  std::vector<Workers::Sent> sent;
  std::vector<Workers::Received> received;
  for (int i = 0; i < shares.workers; ++i) {
    if (i == rank) continue;
    std::vector<float>& share = sums[static_cast<std::size_t>(i)];
    share.resize(shares.size(i));
    sent.push_back({i, bytes_of(own)});
    received.push_back({i, std::as_writable_bytes(std::span(share))});
  }
  workers.exchange(channel, sent, received);
  sums[static_cast<std::size_t>(rank)] = own;
  for (const auto& part : parts)
    for (int i = 0; i < shares.workers; ++i) Sequence(part).write(shares.first(i), sums[static_cast<std::size_t>(i)]);
}

}  // namespace

void reduce_over_workers(Workers& workers, int channel, Parts parts, bool mean) {
  const std::size_t count = Sequence(parts.front()).size();
  if (count == 0) return;
  if (count * sizeof(float) <= bytes_sent_at_once) reduce_at_once(workers, channel, parts, count, mean);
  else reduce_by_shares(workers, channel, parts, {count, workers.count()}, mean);
}

std::vector<std::byte> gather_from_workers(Workers& workers, int channel, std::span<const std::byte> own) {
  std::vector<std::byte> all(own.size() * static_cast<std::size_t>(workers.count()));
  if (own.empty()) return all;
  std::vector<Workers::Sent> sent;
  std::vector<Workers::Received> received;
  for (int i = 0; i < workers.count(); ++i) {
    const std::span<std::byte> place = std::span(all).subspan(static_cast<std::size_t>(i) * own.size(), own.size());
    if (i == workers.rank()) {
      std::copy(own.begin(), own.end(), place.begin());
      continue;
    }
    sent.push_back({i, own});
    received.push_back({i, place});
  }
  workers.exchange(channel, sent, received);
  return all;
}

std::uint8_t bits_of_any_worker(Workers& workers, int channel, std::uint8_t here) {
  const std::byte own{here};
  std::byte bits{0};
  for (std::byte one : gather_from_workers(workers, channel, {&own, 1})) bits |= one;
  return std::to_integer<std::uint8_t>(bits);
}

std::vector<std::byte> from_first_worker(Workers& workers, int channel, std::vector<std::byte> own) {
  const bool is_first = workers.rank() == 0;
  std::uint64_t size = own.size();
  const std::span<std::byte> header = std::as_writable_bytes(std::span(&size, 1));
  const auto share = [&](std::span<std::byte> bytes) {
    std::vector<Workers::Sent> sent;
    for (int other = 1; is_first && other < workers.count(); ++other) sent.push_back({other, bytes});
    const Workers::Received received{0, bytes};
    workers.exchange(channel, sent, std::span(&received, is_first ? 0 : 1));
  };
  share(header);
  own.resize(size);
  if (size > 0) share(own);
  return own;
}

}  // namespace pando
