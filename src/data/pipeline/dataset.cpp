// SPDX-License-Identifier: Apache-2.0
#include <pando/data/dataset.h>
#include <pando/base/random.h>

#include <fmt/format.h>

#include "base/machine/cores.h"
#include "data/pipeline/recipe.h"

namespace pando::data {

namespace {

void check_at_least(std::int64_t least, std::int64_t value, std::string_view what) {
  if (value < least) throw Error(fmt::format("{} is {}; it must be at least {}", what, value, least));
}

template <class Function>
void check_callable(const Function& function, std::string_view what) {
  if (!function) throw Error(fmt::format("{} is empty; give one that can be called", what));
}

}  // namespace

Dataset Dataset::from_tensor_slices(const Element& columns) { return Dataset(slices_recipe(columns)); }

Dataset Dataset::from_generator(Function<Generator()> make) {
  check_callable(make, "from_generator: the function that makes generators");
  return Dataset(generator_recipe(std::move(make)));
}

Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  if (datasets.empty()) throw Error("zip: there are no data sets; give at least one");
  std::vector<RecipePointer> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.recipe_);
  return Dataset(zip_recipe(std::move(inputs)));
}

Dataset Dataset::shuffle(std::int64_t buffer, const ShuffleOptions& options) const {
  check_at_least(1, buffer, "shuffle: the buffer");
  const std::uint64_t seed = options.seed ? *options.seed : next_random_key();
  return Dataset(shuffle_recipe(recipe_, buffer, seed, options.reshuffle_each_iteration));
}

Dataset Dataset::batch(std::int64_t size, const BatchOptions& options) const {
  check_at_least(1, size, "batch: the size");
  return Dataset(batch_recipe(recipe_, size, options.drop_remainder));
}

Dataset Dataset::unbatch() const { return Dataset(unbatch_recipe(recipe_)); }

Dataset Dataset::map(Function<Element(const Element&)> function, const MapOptions& options) const {
  check_callable(function, "map: the function");
  check_at_least(0, options.parallel_calls, "map: the number of parallel calls");
  const std::int64_t threads = options.parallel_calls > 0 ? options.parallel_calls : usable_cores();
  if (threads > 1) return Dataset(parallel_map_recipe(recipe_, std::move(function), threads));
  return Dataset(map_recipe(recipe_, std::move(function)));
}

Dataset Dataset::filter(Function<bool(const Element&)> predicate) const {
  check_callable(predicate, "filter: the function");
  return Dataset(filter_recipe(recipe_, std::move(predicate)));
}

Dataset Dataset::repeat(std::int64_t count) const {
  if (count != forever) check_at_least(0, count, "repeat: the count");
  return Dataset(repeat_recipe(recipe_, count));
}

Dataset Dataset::take(std::int64_t count) const {
  check_at_least(0, count, "take: the count");
  return Dataset(take_recipe(recipe_, count));
}

Dataset Dataset::skip(std::int64_t count) const {
  check_at_least(0, count, "skip: the count");
  return Dataset(skip_recipe(recipe_, count));
}

Dataset Dataset::concatenate(const Dataset& other) const { return Dataset(concatenate_recipe(recipe_, other.recipe_)); }

Dataset Dataset::cache() const { return Dataset(cache_recipe(recipe_)); }

Dataset Dataset::prefetch(std::int64_t count) const {
  check_at_least(1, count, "prefetch: the count");
  return Dataset(prefetch_recipe(recipe_, count));
}

std::int64_t Dataset::cardinality() const { return recipe_->cardinality(); }

Element Recipe::sources() const {
  Element all;
  for (const RecipePointer& input : inputs())
    for (const Array& array : input->sources()) all.push_back(array);
  return all;
}

// A recipe with one input has the input's state, so most recipes add nothing.
Json Recipe::state() const {
  const std::vector<RecipePointer> all = inputs();
  if (all.size() == 1) return all.front()->state();
  Json states;
  for (const RecipePointer& input : all) states.append(input->state());
  return states;
}

void Recipe::restore(const Json& state) const {
  const std::vector<RecipePointer> all = inputs();
  if (all.size() == 1) return all.front()->restore(state);
  const std::size_t count = state.is_null() ? 0 : state.list("the state of a data set").size();
  if (count != all.size())
    throw Error(fmt::format("the data set has {} inputs but had {}; make it as it was", all.size(), count));
  for (std::size_t i = 0; i < count; ++i) all[i]->restore(state.list("the state of a data set")[i]);
}

Dataset::Iterator::Iterator(RecipePointer recipe) : recipe_(std::move(recipe)), pass_(recipe_->begin()) {}
Dataset::Iterator::Iterator(Iterator&&) noexcept = default;
Dataset::Iterator::~Iterator() = default;

Dataset::Iterator& Dataset::Iterator::operator=(Iterator&& other) noexcept {
  // The old pass must be destroyed before its recipe.
  pass_ = std::move(other.pass_);
  recipe_ = std::move(other.recipe_);
  ended_ = other.ended_;
  return *this;
}

std::optional<Element> Dataset::Iterator::next() {
  if (ended_) return {};
  const std::optional<Item> item = pass_->next();
  ended_ = !item;
  return item ? std::optional(item->element()) : std::nullopt;
}

Element Item::element() const {
  if (row_ < 0) return *columns_;
  Element element;
  element.reserve(columns_->size());
  for (std::size_t column = 0; column < columns_->size(); ++column)
    element.push_back((*columns_)[column].slice(row_, row_ + 1).reshape(shape(column)));
  return element;
}

Element Item::rows(std::int64_t count) const {
  Element element;
  for (const Array& column : *columns_) element.push_back(column.slice(row_, row_ + count));
  return element;
}

Shape Item::shape(std::size_t column) const {
  const Shape& shape = (*columns_)[column].shape();
  return row_ < 0 ? shape : shape.part(1, shape.rank());
}

std::size_t Item::bytes(std::size_t column) const {
  const Array& array = (*columns_)[column];
  return row_ < 0 ? array.bytes() : array.bytes() / static_cast<std::size_t>(array.shape()[0]);
}

}  // namespace pando::data
