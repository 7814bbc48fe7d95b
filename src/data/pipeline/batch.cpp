// SPDX-License-Identifier: Apache-2.0
// Elements stacked to batches, and batches taken apart.
#include <fmt/format.h>

#include <cstring>

#include "data/pipeline/recipe.h"

namespace pando::data {

namespace {

std::string type_text(DType dtype, const Shape& shape) { return fmt::format("{}{}", name(dtype), to_string(shape)); }

void check_alike(const Item& first, const Item& other, std::size_t place) {
  if (other.is_like(first)) return;
  if (other.columns() != first.columns())
    throw Error(
        fmt::format("batch: element {} of a batch has {} columns but element 0 has {}; let map return as many "
                    "for each",
                    place, other.columns(), first.columns()));
  for (std::size_t column = 0; column < first.columns(); ++column)
    if (other.dtype(column) != first.dtype(column) || other.shape(column) != first.shape(column))
      throw Error(
          fmt::format("batch: column {} is {} in element {} of a batch but {} in element 0; make them equal "
                      "with map, or batch them one by one",
                      column, type_text(other.dtype(column), other.shape(column)), place,
                      type_text(first.dtype(column), first.shape(column))));
}

Array stack_column(const std::vector<Item>& items, std::size_t column) {
  const Shape shape = joined({static_cast<std::int64_t>(items.size())}, items[0].shape(column));
  Array batch = Array::uninitialised(items[0].dtype(column), shape);
  const std::size_t bytes = items[0].bytes(column);
  std::byte* out = batch.mutable_raw();
  for (const Item& item : items) {
    std::memcpy(out, item.raw(column), bytes);
    out += bytes;
  }
  return batch;
}

class BatchPass : public PassOverInput {
 public:
  BatchPass(std::unique_ptr<Pass> input, std::int64_t size, bool drop_remainder)
      : PassOverInput(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  std::optional<Item> next() override {
    items_.clear();
    while (!input_ended_ && static_cast<std::int64_t>(items_.size()) < size_) {
      std::optional<Item> item = input_->next();
      input_ended_ = !item;
      if (input_ended_) break;
      items_.push_back(std::move(*item));
      check_alike(items_.front(), items_.back(), items_.size() - 1);
    }
    if (items_.empty() || (drop_remainder_ && static_cast<std::int64_t>(items_.size()) < size_)) return {};
    if (in_a_row()) return Item(items_.front().rows(static_cast<std::int64_t>(items_.size())));
    Element batch;
    batch.reserve(items_.front().columns());
    for (std::size_t column = 0; column < items_.front().columns(); ++column)
      batch.push_back(stack_column(items_, column));
    return Item(std::move(batch));
  }

  void restart() override {
    input_->restart();
    input_ended_ = false;
  }

 private:
  bool in_a_row() const {
    for (std::size_t i = 1; i < items_.size(); ++i)
      if (!items_[i].follows(items_[i - 1])) return false;
    return items_.front().is_like(items_.front());
  }

  std::int64_t size_;
  bool drop_remainder_, input_ended_ = false;
  std::vector<Item> items_;
};

class Batch : public Recipe {
 public:
  Batch(RecipePointer input, std::int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}
  std::unique_ptr<Pass> begin() const override {
    return std::make_unique<BatchPass>(input_->begin(), size_, drop_remainder_);
  }
  std::int64_t cardinality() const override {
    const std::int64_t elements = input_->cardinality();
    if (elements < 0) return elements;
    return elements / size_ + (!drop_remainder_ && elements % size_ != 0 ? 1 : 0);
  }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
  std::int64_t size_;
  bool drop_remainder_;
};

class UnbatchPass : public PassOverInput {
 public:
  using PassOverInput::PassOverInput;

  std::optional<Item> next() override {
    while (row_ >= rows_) {
      const std::optional<Item> item = input_->next();
      if (!item) return {};
      columns_ = std::make_shared<const Element>(item->element());
      rows_ = rows_of("unbatch", *columns_);
      row_ = 0;
    }
    return Item(columns_, row_++);
  }

  void restart() override {
    input_->restart();
    row_ = rows_ = 0;
  }

 private:
  std::shared_ptr<const Element> columns_;
  std::int64_t row_ = 0, rows_ = 0;
};

class Unbatch : public Recipe {
 public:
  explicit Unbatch(RecipePointer input) : input_(std::move(input)) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<UnbatchPass>(input_->begin()); }
  std::int64_t cardinality() const override { return input_->cardinality() == 0 ? 0 : Dataset::unknown; }
  std::vector<RecipePointer> inputs() const override { return {input_}; }

 private:
  RecipePointer input_;
};

}  // namespace

RecipePointer batch_recipe(RecipePointer input, std::int64_t size, bool drop_remainder) {
  return std::make_shared<Batch>(std::move(input), size, drop_remainder);
}

RecipePointer unbatch_recipe(RecipePointer input) { return std::make_shared<Unbatch>(std::move(input)); }

}  // namespace pando::data
