// SPDX-License-Identifier: Apache-2.0
// Elements computed, chosen and kept: map, filter, cache.
#include <mutex>

#include "data/pipeline/recipe.h"

namespace pando::data {

namespace {

using Change = Function<Element(const Element&)>;
using Predicate = Function<bool(const Element&)>;

class MapPass : public PassOverInput {
 public:
  MapPass(std::unique_ptr<Pass> input, const Change& function) : PassOverInput(std::move(input)), function_(function) {}
  std::optional<Item> next() override {
    const std::optional<Item> item = input_->next();
    return item ? std::optional<Item>(function_(item->element())) : std::nullopt;
  }

 private:
  const Change& function_;
};

class Map : public Recipe {
 public:
  Map(RecipePointer input, Change function) : input_(std::move(input)), function_(std::move(function)) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<MapPass>(input_->begin(), function_); }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  Change function_;
};

class FilterPass : public PassOverInput {
 public:
  FilterPass(std::unique_ptr<Pass> input, const Predicate& predicate)
      : PassOverInput(std::move(input)), predicate_(predicate) {}
  std::optional<Item> next() override {
    std::optional<Item> item = input_->next();
    while (item && !predicate_(item->element())) item = input_->next();
    return item;
  }

 private:
  const Predicate& predicate_;
};

class Filter : public Recipe {
 public:
  Filter(RecipePointer input, Predicate predicate) : input_(std::move(input)), predicate_(std::move(predicate)) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<FilterPass>(input_->begin(), predicate_); }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : Dataset::unknown; }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  Predicate predicate_;
};

using Items = std::shared_ptr<const std::vector<Item>>;

// What the first complete pass keeps for all others.
class Store {
 public:
  Items items() const {
    const std::lock_guard lock(mutex_);
    return items_;
  }
  // The state of the input before the pass that left the items; null if there are none.
  Json origin() const {
    const std::lock_guard lock(mutex_);
    return items_ ? Json::Object{{"input", origin_}} : Json();
  }
  void keep(std::vector<Item> items, const Json& origin) {
    const std::lock_guard lock(mutex_);
    if (items_) return;
    items_ = std::make_shared<const std::vector<Item>>(std::move(items));
    origin_ = origin;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    items_ = nullptr;
  }

 private:
  mutable std::mutex mutex_;
  Items items_;
  Json origin_;
};

class CachePass : public PassOverInput {
 public:
  // `origin` is the state of the input before its pass.
  CachePass(std::unique_ptr<Pass> input, Json origin, Store& store)
      : PassOverInput(std::move(input)), origin_(std::move(origin)), store_(store), kept_(store.items()) {}

  std::optional<Item> next() override {
    if (kept_) return place_ < kept_->size() ? std::optional<Item>((*kept_)[place_++]) : std::nullopt;
    std::optional<Item> item = input_->next();
    if (item) seen_.push_back(*item);
    else store_.keep(std::move(seen_), origin_);
    return item;
  }

  void restart() override {
    kept_ = store_.items();
    place_ = 0;
    seen_.clear();
    if (!kept_) input_->restart();
  }

 private:
  Json origin_;
  Store& store_;
  Items kept_;
  std::size_t place_ = 0;
  std::vector<Item> seen_;
};

class Cache : public Recipe {
 public:
  explicit Cache(RecipePointer input) : input_(std::move(input)) {}
  std::unique_ptr<Pass> begin() const override {
    Json origin = input_->state();
    return std::make_unique<CachePass>(input_->begin(), std::move(origin), store_);
  }
  std::int64_t cardinality() const override { return input_->cardinality(); }
  std::vector<RecipePointer> inputs() const override { return {input_}; }
  Json state() const override { return Json::Object{{"kept", store_.origin()}, {"input", input_->state()}}; }
  // The kept items are made again, by a pass like the one that kept them.
  void restore(const Json& state) const override {
    const Json *kept = state.find("kept"), *input = state.find("input");
    if (kept == nullptr || input == nullptr) throw Error("the data set is cached where it was not; make it as it was");
    if (*kept != store_.origin()) {
      store_.clear();
      if (const Json* origin = kept->find("input")) {
        input_->restore(*origin);
        const std::unique_ptr<Pass> pass = begin();
        while (pass->next()) {
        }
      }
    }
    input_->restore(*input);
  }

 private:
  RecipePointer input_;
  mutable Store store_;
};

}  // namespace

RecipePointer map_recipe(RecipePointer input, Change function) {
  return std::make_shared<Map>(std::move(input), std::move(function));
}

RecipePointer filter_recipe(RecipePointer input, Predicate predicate) {
  return std::make_shared<Filter>(std::move(input), std::move(predicate));
}

RecipePointer cache_recipe(RecipePointer input) { return std::make_shared<Cache>(std::move(input)); }

}  // namespace pando::data
