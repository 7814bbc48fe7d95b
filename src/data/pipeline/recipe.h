// SPDX-License-Identifier: Apache-2.0
// What a Dataset is made of: recipes, which are immutable, and the passes over them.
#pragma once
#include <pando/data/dataset.h>

#include "io/json.h"

namespace pando::data {

// An element, or a row of some columns that has not been looked at yet: shuffling moves rows around without making
// arrays of them, and batches copy them straight from the columns.
class Item {
 public:
  explicit Item(Element element) : columns_(std::make_shared<const Element>(std::move(element))) {}
  Item(std::shared_ptr<const Element> columns, std::int64_t row) : columns_(std::move(columns)), row_(row) {}

  // Arrays that share the elements of the columns.
  Element element() const;

  std::size_t columns() const { return columns_->size(); }
  DType dtype(std::size_t column) const { return (*columns_)[column].dtype(); }
  Shape shape(std::size_t column) const;
  std::size_t bytes(std::size_t column) const;
  const std::byte* raw(std::size_t column) const {
    const Array& array = (*columns_)[column];
    return row_ < 0 ? array.raw() : array.raw() + static_cast<std::size_t>(row_) * bytes(column);
  }
  // Whether both are rows of the same columns, and so of the same types and shapes.
  bool is_like(const Item& other) const { return row_ >= 0 && other.row_ >= 0 && columns_ == other.columns_; }
  // Whether it is the row after the other one.
  bool follows(const Item& other) const { return is_like(other) && row_ == other.row_ + 1; }
  // This row and those that follow it, as views of the columns.
  Element rows(std::int64_t count) const;

 private:
  std::shared_ptr<const Element> columns_;
  std::int64_t row_ = -1;
};

// One run through a recipe, which must outlive it. It asks its inputs for nothing before the first next().
class Pass {
 public:
  virtual ~Pass() = default;
  // Nothing at the end; after that it is not called again before restart().
  virtual std::optional<Item> next() = 0;
  // Starts again from any position: the next repetition of the same pass.
  virtual void restart() = 0;
};

// A pass that takes items from one other pass.
class PassOverInput : public Pass {
 public:
  explicit PassOverInput(std::unique_ptr<Pass> input) : input_(std::move(input)) {}
  void restart() override { input_->restart(); }

 protected:
  std::unique_ptr<Pass> input_;
};

// The thread that makes the iterator begins the passes of all inputs at once, so that their numbers, and with them the
// orders of shuffles, do not depend on threads.
class Recipe {
 public:
  virtual ~Recipe() = default;
  virtual std::unique_ptr<Pass> begin() const = 0;
  virtual std::int64_t cardinality() const = 0;
  // The recipes that it takes items from.
  virtual std::vector<std::shared_ptr<const Recipe>> inputs() const { return {}; }

  // The arrays that its items are made of, including those of its inputs; nothing if functions of the program make
  // them.
  virtual Element sources() const;

  // What the next pass depends on in addition to the recipe, such as how many passes were begun, including that of its
  // inputs.
  virtual Json state() const;
  // Throws Error if the state is that of another recipe. Passes that were begun go on as they were.
  virtual void restore(const Json& state) const;
};

using RecipePointer = std::shared_ptr<const Recipe>;

// For code that stores the position in a data set.
class DatasetState {
 public:
  static Json of(const Dataset& dataset) { return dataset.recipe_->state(); }
  static Element sources(const Dataset& dataset) { return dataset.recipe_->sources(); }
  static void restore(const Dataset& dataset, const Json& state) { dataset.recipe_->restore(state); }
};

// The first size that all columns share; throws Error if there are none, or a scalar, or other sizes.
std::int64_t rows_of(std::string_view what, const Element& columns);

RecipePointer slices_recipe(const Element& columns);
RecipePointer generator_recipe(Function<Dataset::Generator()> make);
RecipePointer zip_recipe(std::vector<RecipePointer> inputs);
RecipePointer concatenate_recipe(RecipePointer first, RecipePointer second);
RecipePointer shuffle_recipe(RecipePointer input, std::int64_t buffer, std::uint64_t seed, bool reshuffle);
RecipePointer repeat_recipe(RecipePointer input, std::int64_t count);
RecipePointer take_recipe(RecipePointer input, std::int64_t count);
RecipePointer skip_recipe(RecipePointer input, std::int64_t count);
RecipePointer batch_recipe(RecipePointer input, std::int64_t size, bool drop_remainder);
RecipePointer unbatch_recipe(RecipePointer input);
RecipePointer map_recipe(RecipePointer input, Function<Element(const Element&)> function);
RecipePointer parallel_map_recipe(RecipePointer input, Function<Element(const Element&)> function,
                                  std::int64_t threads);
RecipePointer filter_recipe(RecipePointer input, Function<bool(const Element&)> predicate);
RecipePointer cache_recipe(RecipePointer input);
RecipePointer prefetch_recipe(RecipePointer input, std::int64_t count);

}  // namespace pando::data
