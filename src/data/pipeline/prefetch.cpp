// SPDX-License-Identifier: Apache-2.0
// A thread that computes elements before another thread asks for them.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "base/thread.h"
#include "data/pipeline/recipe.h"

namespace pando::data {

namespace {

class PrefetchPass : public PassOverInput {
 public:
  PrefetchPass(std::unique_ptr<Pass> input, std::size_t count) : PassOverInput(std::move(input)), count_(count) {}
  ~PrefetchPass() override { stop(); }

  std::optional<Item> next() override {
    if (!thread_.joinable()) thread_ = Thread("to prefetch", [this] { fill(); });
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return !ready_.empty() || ended_; });
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return {};
    }
    std::optional<Item> item = std::move(ready_.front());
    ready_.pop_front();
    // If many elements are held, wakes the thread seldom and for several elements: waking it can cost more than an
    // element.
    const bool wanted = ready_.size() < count_ - count_ / 4;
    lock.unlock();
    if (wanted) taken_.notify_one();
    return item;
  }

  void restart() override {
    stop();
    ready_.clear();
    failure_ = nullptr;
    ended_ = stopping_ = false;
    input_->restart();
  }

 private:
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    taken_.notify_one();
    thread_.join();
  }

  void fill() {
    try {
      while (wait_for_room()) {
        std::optional<Item> item = input_->next();
        if (!item) break;
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(*item));
        filled_.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    filled_.notify_one();
  }

  // False once the consumer will not ask for more.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return stopping_ || ready_.size() < count_; });
    return !stopping_;
  }

  const std::size_t count_;
  std::mutex mutex_;
  std::condition_variable filled_, taken_;
  std::deque<Item> ready_;
  std::exception_ptr failure_;
  bool ended_ = false, stopping_ = false;
  Thread thread_;
};

class Prefetch : public Recipe {
 public:
  Prefetch(RecipePointer input, std::int64_t count) : input_(std::move(input)), count_(count) {}
  std::unique_ptr<Pass> begin() const override {
    return std::make_unique<PrefetchPass>(input_->begin(), static_cast<std::size_t>(count_));
  }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  std::int64_t count_;
};

}  // namespace

RecipePointer prefetch_recipe(RecipePointer input, std::int64_t count) {
  return std::make_shared<Prefetch>(std::move(input), count);
}

}  // namespace pando::data
