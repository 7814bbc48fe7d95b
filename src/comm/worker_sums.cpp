// SPDX-License-Identifier: Apache-2.0
// Each worker adds up one share of the numbers: it receives that share of every replica, adds in the order of the
// replicas, and sends the sums to all. Few numbers go to every worker at once instead, which saves a round.
#include "comm/worker_sums.h"

#include <algorithm>

#include "base/machine/subnormals.h"

namespace pando {

namespace {

using Parts = std::span<const std::span<const std::span<float>>>;

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
  void add_to(std::span<float> sums, std::size_t first) const {
    walk(first, sums.size(), [&](std::size_t done, std::span<float> piece) {
      for (std::size_t i = 0; i < piece.size(); ++i) sums[done + i] += piece[i];
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

// Room for this many numbers, which is kept for the next sums: the system clears new memory page by page, which takes
// longer than what is done with it here.
std::span<float> room(std::vector<float>& numbers, std::size_t count) {
  if (numbers.size() < count) numbers.resize(count);
  return std::span(numbers).first(count);
}

// Takes the next `count` numbers off the front.
std::span<float> take(std::span<float>& numbers, std::size_t count) {
  const std::span<float> taken = numbers.first(count);
  numbers = numbers.subspan(count);
  return taken;
}

// Writes [replica][number]: the numbers first, first + 1, ... of each replica here.
void pack(Parts parts, std::size_t first, std::span<float> packed) {
  const std::size_t count = packed.size() / parts.size();
  for (const auto& part : parts) Sequence(part).read(first, take(packed, count));
}

// Adds the numbers from `first` on of all replicas, in their order: those of this worker are in `parts`, those of the
// others, [worker][replica][number], in `received`.
void add_in_order(const Workers& workers, Parts parts, std::size_t first, std::span<float> received, bool mean,
                  std::span<float> sums) {
  const SubnormalsAreZero are_zero;
  std::fill(sums.begin(), sums.end(), 0.0f);
  for (int worker = 0; worker < workers.count(); ++worker)
    for (const auto& part : parts) {
      if (worker == workers.rank()) {
        Sequence(part).add_to(sums, first);
      } else {
        const std::span<const float> numbers = take(received, sums.size());
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += numbers[i];
      }
    }
  if (!mean) return;
  const float scale = 1.0f / static_cast<float>(parts.size() * static_cast<std::size_t>(workers.count()));
  for (float& sum : sums) sum *= scale;
}

// The messages of one round.
class Round {
 public:
  void send(int to, std::span<const float> numbers) {
    if (!numbers.empty()) sent_.push_back({to, std::as_bytes(numbers)});
  }
  void receive(int from, std::span<float> numbers) {
    if (!numbers.empty()) received_.push_back({from, std::as_writable_bytes(numbers)});
  }
  void exchange(Workers& workers, int channel) const { workers.exchange(channel, sent_, received_); }

 private:
  std::vector<Workers::Sent> sent_;
  std::vector<Workers::Received> received_;
};

void for_each_other(const Workers& workers, auto visit) {
  for (int other = 0; other < workers.count(); ++other)
    if (other != workers.rank()) visit(other);
}

void reduce_at_once(Workers& workers, int channel, Parts parts, std::size_t count, bool mean, SumScratch& scratch) {
  const std::size_t others = static_cast<std::size_t>(workers.count()) - 1, size = parts.size() * count;
  const std::span<float> own = room(scratch.sent, size), received = room(scratch.received, others * size);
  const std::span<float> sums = room(scratch.sums, count);
  pack(parts, 0, own);
  Round round;
  for_each_other(workers, [&, rest = received](int other) mutable {
    round.send(other, own);
    round.receive(other, take(rest, size));
  });
  round.exchange(workers, channel);
  add_in_order(workers, parts, 0, received, mean, sums);
  for (const auto& part : parts) Sequence(part).write(0, sums);
}

void reduce_by_shares(Workers& workers, int channel, Parts parts, const Shares& shares, bool mean,
                      SumScratch& scratch) {
  const int rank = workers.rank();
  const std::size_t own = shares.size(rank), others = static_cast<std::size_t>(workers.count()) - 1;
  const std::span<float> sent = room(scratch.sent, parts.size() * (shares.numbers - own));
  const std::span<float> received = room(scratch.received, parts.size() * own * others);
  const std::span<float> sums = room(scratch.sums, own);
  Round shares_round;
  for_each_other(workers, [&, to_send = sent, to_receive = received](int other) mutable {
    const std::span<float> packed = take(to_send, parts.size() * shares.size(other));
    pack(parts, shares.first(other), packed);
    shares_round.send(other, packed);
    shares_round.receive(other, take(to_receive, parts.size() * own));
  });
  shares_round.exchange(workers, channel);
  add_in_order(workers, parts, shares.first(rank), received, mean, sums);

  // What was sent is free now, and has room for the sums of the others.
  Round sums_round;
  for_each_other(workers, [&, rest = sent](int other) mutable {
    sums_round.send(other, sums);
    sums_round.receive(other, take(rest, shares.size(other)));
  });
  sums_round.exchange(workers, channel);
  for (const auto& part : parts) {
    Sequence(part).write(shares.first(rank), sums);
    for_each_other(workers, [&, rest = sent](int other) mutable {
      Sequence(part).write(shares.first(other), take(rest, shares.size(other)));
    });
  }
}

}  // namespace

void reduce_over_workers(Workers& workers, int channel, Parts parts, bool mean, SumScratch& scratch) {
  const std::size_t count = Sequence(parts.front()).size();
  if (count == 0) return;
  if (count * sizeof(float) <= bytes_sent_at_once) reduce_at_once(workers, channel, parts, count, mean, scratch);
  else reduce_by_shares(workers, channel, parts, {count, workers.count()}, mean, scratch);
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
