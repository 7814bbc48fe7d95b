// SPDX-License-Identifier: Apache-2.0
// Which elements come, and in which order: shuffle, repeat, take, skip.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/philox.h"
#include "data/pipeline/recipe.h"

namespace pando::data {

namespace {

// Differs from the streams of random ops, which are numbered from 0, in case seeds are equal.
constexpr std::uint32_t shuffle_stream = 0xffffffffu;

struct ShuffleSettings {
  std::int64_t buffer;
  std::uint64_t seed;
  bool reshuffle;
};

class ShufflePass : public PassOverInput {
 public:
  ShufflePass(std::unique_ptr<Pass> input, const ShuffleSettings& settings, std::uint32_t number)
      : PassOverInput(std::move(input)), settings_(settings), number_(number) {}

  std::optional<Item> next() override {
    while (!input_ended_ && static_cast<std::int64_t>(buffer_.size()) < settings_.buffer) {
      if (std::optional<Item> item = input_->next()) buffer_.push_back(std::move(*item));
      else input_ended_ = true;
    }
    if (buffer_.empty()) return {};
    std::swap(buffer_[draw(buffer_.size())], buffer_.back());
    std::optional<Item> drawn = std::move(buffer_.back());
    buffer_.pop_back();
    return drawn;
  }

  void restart() override {
    input_->restart();
    buffer_.clear();
    input_ended_ = false;
    draws_ = 0;
    ++repetition_;
  }

 private:
  // A number below `count`.
  std::size_t draw(std::size_t count) {
    const philox::Key key = {.seed = settings_.seed,
                             .stream = shuffle_stream,
                             .update = settings_.reshuffle ? number_ : 0,
                             .sample = settings_.reshuffle ? repetition_ : 0};
    const bool is_second = draws_ % 2 == 1;
    if (!is_second) block_ = philox::block(key, draws_ / 2);
    ++draws_;
    const std::uint32_t* words = block_.word + (is_second ? 2 : 0);
    const std::uint64_t word = std::uint64_t{words[0]} << 32 | words[1];
    return static_cast<std::size_t>(static_cast<unsigned __int128>(word) * count >> 64);
  }

  ShuffleSettings settings_;
  std::uint32_t number_, repetition_ = 0, draws_ = 0;
  philox::Block block_ = {};
  std::vector<Item> buffer_;
  bool input_ended_ = false;
};

class Shuffle : public Recipe {
 public:
  Shuffle(RecipePointer input, const ShuffleSettings& settings)
      : input_(std::move(input)), settings_(settings), seed_(settings.seed) {}
  std::unique_ptr<Pass> begin() const override {
    ShuffleSettings settings = settings_;
    settings.seed = seed_;
    return std::make_unique<ShufflePass>(input_->begin(), settings, passes_++);
  }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::vector<RecipePointer> inputs() const override { return {input_}; }
  Json state() const override {
    return Json::Object{{"seed", static_cast<std::int64_t>(seed_.load())},
                        {"passes", static_cast<std::int64_t>(passes_.load())},
                        {"input", input_->state()}};
  }
  void restore(const Json& state) const override {
    const Json *seed = state.find("seed"), *passes = state.find("passes"), *input = state.find("input");
    if (seed == nullptr || passes == nullptr || input == nullptr)
      throw Error("the data set is shuffled where it was not; make it as it was");
    const std::int64_t number = passes->integer("the number of passes over a shuffle");
    if (number < 0 || number > std::numeric_limits<std::uint32_t>::max())
      throw Error(fmt::format("the number of passes over a shuffle is {}; use another checkpoint", number));
    seed_ = static_cast<std::uint64_t>(seed->integer("the seed of a shuffle"));
    passes_ = static_cast<std::uint32_t>(number);
    input_->restore(*input);
  }

 private:
  RecipePointer input_;
  ShuffleSettings settings_;
  // Only restore() changes it: a seed that was drawn differs in another process.
  mutable std::atomic<std::uint64_t> seed_;
  // Numbers the passes, so that each has its own order.
  mutable std::atomic<std::uint32_t> passes_ = 0;
};

class RepeatPass : public PassOverInput {
 public:
  RepeatPass(std::unique_ptr<Pass> input, std::int64_t count) : PassOverInput(std::move(input)), count_(count) {}

  std::optional<Item> next() override {
    while (count_ == Dataset::forever || done_ < count_) {
      if (std::optional<Item> item = input_->next()) {
        is_empty_ = false;
        return item;
      }
      // An input without elements would be repeated for ever.
      if (is_empty_) return {};
      is_empty_ = true;
      if (++done_ != count_) input_->restart();
    }
    return {};
  }

  void restart() override {
    input_->restart();
    done_ = 0;
    is_empty_ = true;
  }

 private:
  std::int64_t count_, done_ = 0;
  bool is_empty_ = true;
};

class Repeat : public Recipe {
 public:
  Repeat(RecipePointer input, std::int64_t count) : input_(std::move(input)), count_(count) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<RepeatPass>(input_->begin(), count_); }
  std::int64_t cardinality() const override {
    const std::int64_t once = input_->cardinality();
    if (count_ == 0 || once == 0) return 0;
    if (count_ == Dataset::forever) return Dataset::infinite;
    std::int64_t all;
    if (once < 0) return once;
    return __builtin_mul_overflow(once, count_, &all) ? Dataset::infinite : all;
  }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  std::int64_t count_;
};

class TakePass : public PassOverInput {
 public:
  TakePass(std::unique_ptr<Pass> input, std::int64_t count) : PassOverInput(std::move(input)), count_(count) {}
  std::optional<Item> next() override { return taken_++ < count_ ? input_->next() : std::nullopt; }
  void restart() override {
    input_->restart();
    taken_ = 0;
  }

 private:
  std::int64_t count_, taken_ = 0;
};

class Take : public Recipe {
 public:
  Take(RecipePointer input, std::int64_t count) : input_(std::move(input)), count_(count) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<TakePass>(input_->begin(), count_); }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    if (all == Dataset::infinite || count_ == 0) return count_;
    return all == Dataset::unknown ? all : std::min(all, count_);
  }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  std::int64_t count_;
};

class SkipPass : public PassOverInput {
 public:
  SkipPass(std::unique_ptr<Pass> input, std::int64_t count) : PassOverInput(std::move(input)), count_(count) {}
  std::optional<Item> next() override {
    for (; skipped_ < count_; ++skipped_)
      if (!input_->next()) return {};
    return input_->next();
  }
  void restart() override {
    input_->restart();
    skipped_ = 0;
  }

 private:
  std::int64_t count_, skipped_ = 0;
};

class Skip : public Recipe {
 public:
  Skip(RecipePointer input, std::int64_t count) : input_(std::move(input)), count_(count) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<SkipPass>(input_->begin(), count_); }
  std::int64_t cardinality() const override {
    const std::int64_t all = input_->cardinality();
    return all < 0 ? all : std::max<std::int64_t>(all - count_, 0);
  }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  std::int64_t count_;
};

}  // namespace

RecipePointer shuffle_recipe(RecipePointer input, std::int64_t buffer, std::uint64_t seed, bool reshuffle) {
  return std::make_shared<Shuffle>(std::move(input), ShuffleSettings{buffer, seed, reshuffle});
}

RecipePointer repeat_recipe(RecipePointer input, std::int64_t count) {
  return std::make_shared<Repeat>(std::move(input), count);
}

RecipePointer take_recipe(RecipePointer input, std::int64_t count) {
  return std::make_shared<Take>(std::move(input), count);
}

RecipePointer skip_recipe(RecipePointer input, std::int64_t count) {
  return std::make_shared<Skip>(std::move(input), count);
}

}  // namespace pando::data
