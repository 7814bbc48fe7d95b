// SPDX-License-Identifier: Apache-2.0
// Dataset: a pipeline that hands out the elements of a data set, as tf.data does.
#pragma once
#include <pando/base/array.h>
#include <pando/base/function.h>

#include <memory>
#include <optional>

namespace pando::data {

// The columns of one sample, or of one batch.
using Element = Arrays;

class Pass;
class Recipe;

struct ShuffleOptions {
  // If not given, next_random_key() draws it when the Dataset is made.
  std::optional<std::uint64_t> seed = {};
  // Whether every pass has its own order. The order depends on the seed, on how many iterators were made over this
  // shuffle before, and on the repetition within the pass.
  bool reshuffle_each_iteration = true;
};

struct BatchOptions {
  // Drops the last batch if it is smaller.
  bool drop_remainder = false;
};

struct MapOptions {
  // How many threads call the function at once, for different elements; 1 calls it in the thread that asks, 0 takes as
  // many as the process has cores. Elements keep their order.
  std::int64_t parallel_calls = 1;
};

// A description, cheap to copy and immutable; an Iterator is one pass over it, independent of others. A pass runs the
// given functions when elements are asked for, in the thread that asks. Two steps have threads of their own, which also
// run everything before them: prefetch(), and map() with parallel calls. All functions throw Error naming the values
// and the remedy.
class PANDO_API Dataset {
 public:
  using Generator = Function<std::optional<Element>()>;

  // What cardinality() returns where there is no number, and the count of an endless repeat().
  static constexpr std::int64_t infinite = -1, unknown = -2, forever = -1;

  // Row i of every array is element i, a view. The arrays need equal first sizes.
  static Dataset from_tensor_slices(const Element& columns);
  // Each pass calls `make`, and then calls the generator that it returned until that returns nothing.
  static Dataset from_generator(Function<Generator()> make);
  // Joins one element of each, with their columns one after the other; ends with the shortest.
  static Dataset zip(const std::vector<Dataset>& datasets);

  // Draws each element at random from the next `buffer` elements.
  Dataset shuffle(std::int64_t buffer, const ShuffleOptions& options = {}) const;
  // Stacks `size` elements of equal types and shapes in new arrays. Consecutive rows of from_tensor_slices() become
  // views of its arrays instead.
  Dataset batch(std::int64_t size, const BatchOptions& options = {}) const;
  // The rows of each element, as views.
  Dataset unbatch() const;
  Dataset map(Function<Element(const Element&)> function, const MapOptions& options = {}) const;
  Dataset filter(Function<bool(const Element&)> predicate) const;
  Dataset repeat(std::int64_t count = forever) const;
  Dataset take(std::int64_t count) const;
  Dataset skip(std::int64_t count) const;
  Dataset concatenate(const Dataset& other) const;
  // Keeps the elements of the first complete pass for all later passes.
  Dataset cache() const;
  // Each pass has a thread that computes up to `count` elements ahead, starting at the first next(). next() throws what
  // the thread threw.
  Dataset prefetch(std::int64_t count) const;

  // The number of elements of one pass, or `infinite`, or `unknown`.
  std::int64_t cardinality() const;

  // One pass. One thread at a time may use it.
  class PANDO_API Iterator {
   public:
    Iterator(Iterator&&) noexcept;
    Iterator& operator=(Iterator&&) noexcept;
    ~Iterator();

    // Returns nothing at the end and from then on.
    std::optional<Element> next();

   private:
    friend class Dataset;
    explicit Iterator(std::shared_ptr<const Recipe> recipe);

    std::shared_ptr<const Recipe> recipe_;
    std::unique_ptr<Pass> pass_;
    bool ended_ = false;
  };
  Iterator iterator() const { return Iterator(recipe_); }

  // for (const Element& element : dataset): a new pass.
  struct End {};
  class Cursor {
   public:
    explicit Cursor(Iterator iterator) : iterator_(std::move(iterator)), element_(iterator_.next()) {}

    const Element& operator*() const { return *element_; }
    const Element* operator->() const { return &*element_; }
    Cursor& operator++() {
      element_ = iterator_.next();
      return *this;
    }
    bool operator==(End) const { return !element_; }

   private:
    Iterator iterator_;
    std::optional<Element> element_;
  };
  Cursor begin() const { return Cursor(iterator()); }
  End end() const { return {}; }

 private:
  friend class DatasetState;
  explicit Dataset(std::shared_ptr<const Recipe> recipe) : recipe_(std::move(recipe)) {}

  std::shared_ptr<const Recipe> recipe_;
};

}  // namespace pando::data
