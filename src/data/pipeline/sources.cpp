// SPDX-License-Identifier: Apache-2.0
// Where elements come from: arrays, generators, and several data sets side by side or one after the other.
#include <fmt/format.h>

#include <algorithm>

#include "data/pipeline/recipe.h"

namespace pando::data {

std::int64_t rows_of(std::string_view what, const Element& columns) {
  if (columns.empty()) throw Error(fmt::format("{}: there are no arrays; give at least one", what));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].shape().rank() == 0)
      throw Error(
          fmt::format("{}: array {} is a scalar and has no rows; expand_dims makes it an array of one", what, i));
    if (columns[i].shape()[0] != columns[0].shape()[0])
      throw Error(fmt::format("{}: array {} is {}{} but array 0 is {}{}; the first sizes must be equal", what, i,
                              name(columns[i].dtype()), to_string(columns[i].shape()), name(columns[0].dtype()),
                              to_string(columns[0].shape())));
  }
  return columns[0].shape()[0];
}

namespace {

class SlicesPass : public Pass {
 public:
  SlicesPass(std::shared_ptr<const Element> columns, std::int64_t rows) : columns_(std::move(columns)), rows_(rows) {}
  std::optional<Item> next() override { return row_ < rows_ ? std::optional<Item>({columns_, row_++}) : std::nullopt; }
  void restart() override { row_ = 0; }

 private:
  std::shared_ptr<const Element> columns_;
  std::int64_t rows_, row_ = 0;
};

class Slices : public Recipe {
 public:
  explicit Slices(const Element& columns)
      : rows_(rows_of("from_tensor_slices", columns)), columns_(std::make_shared<const Element>(columns)) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<SlicesPass>(columns_, rows_); }
  std::int64_t cardinality() const override { return rows_; }
  Element sources() const override { return *columns_; }

 private:
  std::int64_t rows_;
  std::shared_ptr<const Element> columns_;
};

class GeneratorPass : public Pass {
 public:
  explicit GeneratorPass(const Function<Dataset::Generator()>& make) : make_(make) {}
  std::optional<Item> next() override {
    if (!generator_) generator_ = make_();
    if (!generator_) throw Error("from_generator: the generator made is empty; return one that can be called");
    std::optional<Element> element = generator_();
    return element ? std::optional<Item>(std::move(*element)) : std::nullopt;
  }
  void restart() override { generator_ = nullptr; }

 private:
  const Function<Dataset::Generator()>& make_;
  Dataset::Generator generator_;
};

class FromGenerator : public Recipe {
 public:
  explicit FromGenerator(Function<Dataset::Generator()> make) : make_(std::move(make)) {}
  std::unique_ptr<Pass> begin() const override { return std::make_unique<GeneratorPass>(make_); }
  std::int64_t cardinality() const override { return Dataset::unknown; }

 private:
  Function<Dataset::Generator()> make_;
};

class ZipPass : public Pass {
 public:
  explicit ZipPass(std::vector<std::unique_ptr<Pass>> inputs) : inputs_(std::move(inputs)) {}
  std::optional<Item> next() override {
    Element all;
    for (const std::unique_ptr<Pass>& input : inputs_) {
      const std::optional<Item> item = input->next();
      if (!item) return {};
      for (Array& array : item->element()) all.push_back(std::move(array));
    }
    return Item(std::move(all));
  }
  void restart() override {
    for (const std::unique_ptr<Pass>& input : inputs_) input->restart();
  }

 private:
  std::vector<std::unique_ptr<Pass>> inputs_;
};

class Zip : public Recipe {
 public:
  explicit Zip(std::vector<RecipePointer> inputs) : inputs_(std::move(inputs)) {}
  std::unique_ptr<Pass> begin() const override {
    std::vector<std::unique_ptr<Pass>> passes;
    for (const RecipePointer& input : inputs_) passes.push_back(input->begin());
    return std::make_unique<ZipPass>(std::move(passes));
  }
  std::int64_t cardinality() const override {
    std::int64_t least = Dataset::infinite;
    for (const RecipePointer& input : inputs_) {
      const std::int64_t count = input->cardinality();
      if (count == Dataset::unknown) return Dataset::unknown;
      if (count != Dataset::infinite) least = least == Dataset::infinite ? count : std::min(least, count);
    }
    return least;
  }
  std::vector<RecipePointer> inputs() const override { return inputs_; }

 private:
  std::vector<RecipePointer> inputs_;
};

class ConcatenatePass : public Pass {
 public:
  ConcatenatePass(std::unique_ptr<Pass> first, std::unique_ptr<Pass> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  std::optional<Item> next() override {
    if (!in_second_) {
      if (std::optional<Item> item = first_->next()) return item;
      in_second_ = true;
    }
    return second_->next();
  }
  void restart() override {
    first_->restart();
    second_->restart();
    in_second_ = false;
  }

 private:
  std::unique_ptr<Pass> first_, second_;
  bool in_second_ = false;
};

class Concatenate : public Recipe {
 public:
  Concatenate(RecipePointer first, RecipePointer second) : first_(std::move(first)), second_(std::move(second)) {}
  std::unique_ptr<Pass> begin() const override {
    std::unique_ptr<Pass> first = first_->begin();
    return std::make_unique<ConcatenatePass>(std::move(first), second_->begin());
  }
  std::int64_t cardinality() const override {
    const std::int64_t a = first_->cardinality(), b = second_->cardinality();
    if (a == Dataset::infinite || b == Dataset::infinite) return Dataset::infinite;
    return a == Dataset::unknown || b == Dataset::unknown ? Dataset::unknown : a + b;
  }
  std::vector<RecipePointer> inputs() const override { return {first_, second_}; }

 private:
  RecipePointer first_, second_;
};

}  // namespace

RecipePointer slices_recipe(const Element& columns) { return std::make_shared<Slices>(columns); }

RecipePointer generator_recipe(Function<Dataset::Generator()> make) {
  return std::make_shared<FromGenerator>(std::move(make));
}

RecipePointer zip_recipe(std::vector<RecipePointer> inputs) { return std::make_shared<Zip>(std::move(inputs)); }

RecipePointer concatenate_recipe(RecipePointer first, RecipePointer second) {
  return std::make_shared<Concatenate>(std::move(first), std::move(second));
}

}  // namespace pando::data
