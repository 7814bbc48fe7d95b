// SPDX-License-Identifier: Apache-2.0
// Workers over messages that all must send in the same order: threads exchange in any order, and every way to end.
#include "comm/collective_workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "comm/last_checkpoint.h"
#include "comm/worker_sums.h"
#include "tests/message.h"

namespace pando {
namespace {

using namespace std::chrono_literals;

// Stands for the messages of NCCL between threads. All workers must make the same calls: a worker whose call is another
// one than that of the rest is found out.
class ThreadCollective {
 public:
  explicit ThreadCollective(int count) : slots_(static_cast<std::size_t>(count)) {}
  std::unique_ptr<Collective> worker(int rank) { return std::make_unique<One>(*this, rank); }
  // Messages of this worker do not arrive any more.
  void break_connection() {
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
    changed_.notify_all();
  }

 private:
  struct Slot {
    bool gathers = false;
    std::span<const std::byte> own = {};
    std::span<const Workers::Sent> sent = {};
  };

  // Calls take() when all slots are filled, and returns when all have taken.
  void meet(int rank, const Slot& own, const std::function<void()>& take) {
    std::unique_lock lock(mutex_);
    const auto wait = [&](const std::function<bool()>& is_true) {
      changed_.wait(lock, [&] { return is_broken_ || is_true(); });
      // What was complete before has arrived.
      if (!is_true()) throw Error("the connection is broken");
    };
    const std::uint64_t turn = turns_;
    slots_[static_cast<std::size_t>(rank)] = own;
    if (++arrived_ == slots_.size()) changed_.notify_all();
    wait([&] { return arrived_ >= slots_.size(); });
    for (const Slot& slot : slots_) EXPECT_EQ(slot.gathers, own.gathers) << "workers make different calls";
    take();
    if (++taken_ == slots_.size()) {
      arrived_ = taken_ = 0;
      ++turns_;
      changed_.notify_all();
    }
    wait([&] { return turns_ > turn; });
  }

  class One final : public Collective {
   public:
    One(ThreadCollective& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int count() const override { return static_cast<int>(all_.slots_.size()); }
    void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
      all_.meet(rank_, {.gathers = true, .own = own}, [&] {
        for (std::size_t i = 0; i < all_.slots_.size(); ++i)
          std::copy(all_.slots_[i].own.begin(), all_.slots_[i].own.end(), all.subspan(i * own.size()).begin());
      });
    }
    void exchange(std::span<const Workers::Sent> sent, std::span<const Workers::Received> received) override {
      all_.meet(rank_, {.sent = sent}, [&] {
        std::vector<std::size_t> next(all_.slots_.size());
        for (const Workers::Received& one : received) {
          const auto from = static_cast<std::size_t>(one.from);
          const auto& messages = all_.slots_[from].sent;
          while (next[from] < messages.size() && messages[next[from]].to != rank_) ++next[from];
          ASSERT_LT(next[from], messages.size()) << "nothing was sent";
          const std::span<const std::byte> bytes = messages[next[from]++].bytes;
          ASSERT_EQ(bytes.size(), one.bytes.size());
          std::copy(bytes.begin(), bytes.end(), one.bytes.begin());
        }
      });
    }

   private:
    ThreadCollective& all_;
    const int rank_;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::size_t arrived_ = 0, taken_ = 0;
  std::uint64_t turns_ = 0;
  bool is_broken_ = false;
};

void run_workers(ThreadCollective& collective, int count, const std::function<void(CollectiveWorkers&)>& function) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      CollectiveWorkers workers(collective.worker(rank));
      function(workers);
    });
  for (std::thread& thread : threads) thread.join();
}

void run_workers(int count, const std::function<void(CollectiveWorkers&)>& function) {
  ThreadCollective collective(count);
  run_workers(collective, count, function);
}

// The sum of what all workers give on the channel.
int sum(Workers& workers, int channel, int own) {
  int all = 0;
  for (const std::byte one : gather_from_workers(workers, channel, std::vector{std::byte(own)}))
    all += std::to_integer<int>(one);
  return all;
}

TEST(CollectiveWorkers, ExchangeMessages) {
  for (int count : {1, 2, 3, 4})
    run_workers(count, [&](CollectiveWorkers& workers) {
      EXPECT_EQ(workers.count(), count);
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(sum(workers, i % 3, workers.rank() + i), count * i + count * (count - 1) / 2);
      const std::vector<std::byte> wanted(100'000, std::byte{7});
      EXPECT_EQ(from_first_worker(workers, 9, workers.rank() == 0 ? wanted : std::vector<std::byte>()), wanted);
    });
}

// The first worker has a thread for each channel, which begin in any order; the last has one for all of them.
TEST(CollectiveWorkers, ThreadsOfAWorkerExchangeInAnyOrder) {
  run_workers(3, [](CollectiveWorkers& workers) {
    const auto exchange = [&](int channel) {
      for (int i = 0; i < 10; ++i) EXPECT_EQ(sum(workers, channel, channel + workers.rank()), 3 * channel + 3);
    };
    if (workers.rank() == 2) {
      for (int i = 0; i < 10; ++i)
        for (const int channel : {3, 1, 2, 0}) EXPECT_EQ(sum(workers, channel, channel + 2), 3 * channel + 3);
      return;
    }
    std::vector<std::thread> threads;
    for (int channel = 0; channel < 4; ++channel)
      threads.emplace_back([&, channel] { exchange(workers.rank() == 0 ? channel : 3 - channel); });
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(CollectiveWorkers, OneThatGivesUpEndsAll) {
  std::vector<std::string> messages(3);
  run_workers(3, [&](CollectiveWorkers& workers) {
    sum(workers, 0, 1);
    if (workers.rank() == 1) workers.give_up("the disk is gone");
    messages[static_cast<std::size_t>(workers.rank())] = message([&] { sum(workers, 0, 1); });
    EXPECT_THROW(sum(workers, 1, 1), Error) << "it stays so";
  });
  EXPECT_EQ(messages[0], "worker 1 gave up: the disk is gone" + words_about_checkpoint());
  EXPECT_EQ(messages[1], "worker 1 cannot go on: the disk is gone");
  EXPECT_EQ(messages[2], messages[0]);
}

// Sums of GPUs do not go by way of exchange(): who waits for them looks for failures meanwhile.
TEST(CollectiveWorkers, OneThatWaitsForSomethingElseHearsOfFailures) {
  run_workers(2, [](CollectiveWorkers& workers) {
    sum(workers, 0, 1);
    if (workers.rank() == 1) {
      std::this_thread::sleep_for(20ms);
      return workers.give_up("out of memory");
    }
    EXPECT_EQ(message([&] {
                while (true) {
                  workers.check_others();
                  std::this_thread::sleep_for(1ms);
                }
              }),
              "worker 1 gave up: out of memory" + words_about_checkpoint());
  });
}

TEST(CollectiveWorkers, OneThatLookedAndWentOnMayEndLater) {
  run_workers(2, [](CollectiveWorkers& workers) {
    sum(workers, 0, 1);
    if (workers.rank() == 1) return;
    workers.check_others();
    std::this_thread::sleep_for(100ms);
  });
}

TEST(CollectiveWorkers, AProgramThatEndsTooEarlyIsFoundOut) {
  for (const bool looks : {false, true})
    run_workers(2, [&](CollectiveWorkers& workers) {
      sum(workers, 0, 1);
      if (workers.rank() == 1) return;
      const std::string text = message([&] {
        if (!looks) sum(workers, 0, 1);
        while (true) {
          workers.check_others();
          std::this_thread::sleep_for(1ms);
        }
      });
      EXPECT_NE(text.find("worker 1 ended its program while worker 0 still waits for it"), std::string::npos) << text;
    });
}

TEST(CollectiveWorkers, ABrokenConnectionEndsTheWait) {
  ThreadCollective collective(2);
  // Worker 1 does not end before worker 0 has seen it: that would be another failure.
  std::latch seen(1);
  run_workers(collective, 2, [&](CollectiveWorkers& workers) {
    sum(workers, 0, 1);
    if (workers.rank() == 1) {
      collective.break_connection();
      return seen.wait();
    }
    EXPECT_EQ(message([&] { sum(workers, 0, 1); }), "the connection is broken");
    seen.count_down();
  });
}

}  // namespace
}  // namespace pando
