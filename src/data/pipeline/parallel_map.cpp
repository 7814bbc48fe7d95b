// SPDX-License-Identifier: Apache-2.0
// A function that several threads call at once, each for another element. Elements keep their order: a thread takes the
// next element and its place in the queue as one action, and the reader waits for the first place.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "base/thread.h"
#include "data/pipeline/recipe.h"

namespace pando::data {

namespace {

using ElementFunction = Function<Element(const Element&)>;

class ParallelMapPass : public PassOverInput {
 public:
  ParallelMapPass(std::unique_ptr<Pass> input, const ElementFunction& function, std::size_t threads)
      : PassOverInput(std::move(input)), function_(function), threads_(threads) {}
  ~ParallelMapPass() override { stop(); }

  std::optional<Item> next() override {
    while (workers_.size() < threads_) workers_.emplace_back("to map elements", [this] { work(); });
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return places_.empty() ? ended_ : places_.front()->done; });
    if (places_.empty()) return {};
    const std::shared_ptr<Place> place = std::move(places_.front());
    places_.pop_front();
    lock.unlock();
    taken_.notify_one();
    if (place->failure) std::rethrow_exception(place->failure);
    return std::move(place->item);
  }

  void restart() override {
    stop();
    places_.clear();
    ended_ = stopping_ = false;
    input_->restart();
  }

 private:
  // The input's item, then what the function made of it; or what one of them threw.
  struct Place {
    std::optional<Item> item = {};
    std::exception_ptr failure = {};
    bool done = false;
  };

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    taken_.notify_all();
    for (Thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void work() {
    while (const std::shared_ptr<Place> place = take()) {
      if (!place->failure) try {
          place->item = Item(function_(place->item->element()));
        } catch (...) {
          place->failure = std::current_exception();
        }
      const std::lock_guard lock(mutex_);
      place->done = true;
      filled_.notify_one();
    }
  }

  // A place with the next item of the input or what the input threw; nothing at the end.
  std::shared_ptr<Place> take() {
    const std::lock_guard input_lock(input_mutex_);
    if (!wait_for_room()) return {};
    auto place = std::make_shared<Place>();
    try {
      place->item = input_->next();
    } catch (...) {
      place->failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    // An input that threw is not asked again.
    ended_ = !place->item;
    filled_.notify_one();
    if (!place->item && !place->failure) return {};
    places_.push_back(place);
    return place;
  }

  // False at the end of the input, and once the consumer will not ask for more.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return stopping_ || ended_ || places_.size() < 2 * threads_; });
    return !stopping_ && !ended_;
  }

  const ElementFunction& function_;
  const std::size_t threads_;
  // Taken before `mutex_`: by the one thread that asks the input.
  std::mutex input_mutex_;
  std::mutex mutex_;
  std::condition_variable filled_, taken_;
  std::deque<std::shared_ptr<Place>> places_;
  bool ended_ = false, stopping_ = false;
  std::vector<Thread> workers_;
};

class ParallelMap : public Recipe {
 public:
  ParallelMap(RecipePointer input, ElementFunction function, std::int64_t threads)
      : input_(std::move(input)), function_(std::move(function)), threads_(threads) {}
  std::unique_ptr<Pass> begin() const override {
    return std::make_unique<ParallelMapPass>(input_->begin(), function_, static_cast<std::size_t>(threads_));
  }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  ElementFunction function_;
  std::int64_t threads_;
};

}  // namespace

RecipePointer parallel_map_recipe(RecipePointer input, Function<Element(const Element&)> function,
                                  std::int64_t threads) {
  return std::make_shared<ParallelMap>(std::move(input), std::move(function), threads);
}

}  // namespace pando::data
