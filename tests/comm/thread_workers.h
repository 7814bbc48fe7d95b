// SPDX-License-Identifier: Apache-2.0
// Workers that are threads of the test: messages wait in queues until they are taken.
#pragma once
#include <pando/comm/workers.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace pando {

class ThreadWorkers {
 public:
  explicit ThreadWorkers(int count) : count_(count) {}

  std::shared_ptr<Workers> worker(int rank) { return std::make_shared<One>(*this, rank); }

  // Runs the function on a thread for each worker; rethrows the first exception that is not another worker's.
  void run(const std::function<void(std::shared_ptr<Workers>)>& function) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count_));
    for (int rank = 0; rank < count_; ++rank)
      threads.emplace_back([&, rank] {
        try {
          function(worker(rank));
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
          worker(rank)->give_up("the test failed");
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (bool own : {true, false})
      for (const std::exception_ptr& failure : failures) {
        if (!failure) continue;
        try {
          std::rethrow_exception(failure);
        } catch (const WorkerFailure&) {
          if (!own) throw;
        }
      }
  }

 private:
  class One final : public Workers {
   public:
    One(ThreadWorkers& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int count() const override { return all_.count_; }

    void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) override {
      std::unique_lock lock(all_.mutex_);
      for (const Sent& one : sent)
        all_.queues_[{rank_, one.to, channel}].emplace_back(one.bytes.begin(), one.bytes.end());
      all_.changed_.notify_all();
      for (const Received& one : received) {
        auto& queue = all_.queues_[{one.from, rank_, channel}];
        all_.changed_.wait(lock, [&] { return !queue.empty() || !all_.failure_.empty(); });
        if (queue.empty()) throw WorkerFailure(all_.failed_, all_.failure_);
        if (queue.front().size() != one.bytes.size()) throw InternalError("a message has another size");
        std::copy(queue.front().begin(), queue.front().end(), one.bytes.begin());
        queue.pop_front();
      }
    }

    void give_up(const std::string& why) noexcept override {
      const std::lock_guard lock(all_.mutex_);
      if (!all_.failure_.empty()) return;
      all_.failure_ = "worker " + std::to_string(rank_) + " gave up: " + why;
      all_.failed_ = rank_;
      all_.changed_.notify_all();
    }

   private:
    ThreadWorkers& all_;
    const int rank_;
  };

  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // By sender, receiver and channel.
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> queues_;
  std::string failure_;
  int failed_ = 0;
};

}  // namespace pando
