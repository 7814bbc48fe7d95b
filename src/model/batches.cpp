// SPDX-License-Identifier: Apache-2.0
#include "model/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "data/pipeline/recipe.h"
#include "data/pipeline/shuffled_order.h"

namespace pando {

namespace {

class ArrayBatches final : public BatchPasses {
 public:
  ArrayBatches(const Arrays& columns, std::int64_t batch_size, bool shuffle, bool stay)
      : columns_(columns), count_(columns.front().shape()[0]), batch_size_(batch_size), shuffle_(shuffle) {
    if (stay && count_ > 0 && count_ <= std::numeric_limits<std::int32_t>::max())
      table_ = std::make_shared<const SampleTable>(columns, count_);
  }

  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override {
    const std::int64_t count = upcoming(limit);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns[i] != nullptr) copy(columns_[i], count, columns[i]);
    first_ += count;
    return count;
  }

  std::int64_t upcoming(std::int64_t limit) override { return std::min(limit, count_ - first_); }

  std::shared_ptr<const SampleTable> table_of(std::size_t column) const override {
    const bool is_even = columns_[column].bytes() % static_cast<std::size_t>(std::max<std::int64_t>(count_, 1)) == 0;
    return is_even ? table_ : nullptr;
  }
  std::int64_t next_numbered(std::int64_t limit, std::span<std::byte* const> columns, std::int32_t* numbers) override {
    const std::int64_t first = first_, count = next(limit, columns);
    for (std::int64_t i = 0; i < count; ++i)
      numbers[i] = static_cast<std::int32_t>(shuffle_ ? order_[static_cast<std::size_t>(first + i)] : first + i);
    return count;
  }

  void begin(std::uint64_t key) override {
    if (shuffle_) order_ = shuffled_order(count_, key);
    first_ = std::min(count_, used_before_ * batch_size_);
  }
  void end(std::int64_t) override { used_before_ = 0; }
  Arrays sources() const override { return columns_; }
  DataPosition position(std::int64_t batches) const override { return {.batches = used_before_ + batches}; }
  void restore(const DataPosition& position) override { used_before_ = position.batches; }
  void restore_now(const DataPosition&) override {}

 private:
  void copy(const Array& column, std::int64_t count, std::byte* out) const {
    const auto samples = static_cast<std::size_t>(count_);
    const std::size_t bytes = column.bytes() / samples, rest = column.bytes() % samples;
    const std::byte* rows = column.raw();
    const auto place = [&](std::size_t sample) { return rows + sample * bytes + sample * rest / samples; };
    if (!shuffle_) {
      const auto first = static_cast<std::size_t>(first_), end = static_cast<std::size_t>(first_ + count);
      std::memcpy(out, place(first), static_cast<std::size_t>(place(end) - place(first)));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i, out += bytes)
      std::memcpy(out, rows + static_cast<std::size_t>(order_[static_cast<std::size_t>(first_ + i)]) * bytes, bytes);
  }

  Arrays columns_;
  std::shared_ptr<const SampleTable> table_;
  std::int64_t count_, batch_size_;
  bool shuffle_;
  std::vector<std::int64_t> order_;
  std::int64_t first_ = 0;
  // Batches of the epoch that were used before begin().
  std::int64_t used_before_ = 0;
};

class BatchesOfSize final : public BatchSource {
 public:
  BatchesOfSize(std::shared_ptr<BatchSource> source, std::int64_t size) : source_(std::move(source)), size_(size) {}

  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override {
    return source_->upcoming(limit) == size_ ? source_->next(limit, columns) : 0;
  }
  std::int64_t upcoming(std::int64_t limit) override { return source_->upcoming(limit) == size_ ? size_ : 0; }
  std::shared_ptr<const SampleTable> table_of(std::size_t column) const override { return source_->table_of(column); }
  std::int64_t next_numbered(std::int64_t limit, std::span<std::byte* const> columns, std::int32_t* numbers) override {
    return source_->upcoming(limit) == size_ ? source_->next_numbered(limit, columns, numbers) : 0;
  }

 private:
  std::shared_ptr<BatchSource> source_;
  std::int64_t size_;
};

std::string column_texts(const std::vector<Type>& types) {
  std::vector<std::string> texts;
  for (const Type& type : types) texts.push_back(to_string(type));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Type row_type(const std::string& who, const Array& array) {
  if (array.shape().rank() == 0)
    throw Error(fmt::format("{}: an array has no axes, but samples lie along the first; reshape it", who));
  return {array.dtype(), array.shape().part(1, array.shape().rank())};
}

std::int64_t BatchSource::upcoming(std::int64_t) {
  throw InternalError("samples whose number is not known ahead were asked for it");
}

std::int64_t BatchSource::next_numbered(std::int64_t, std::span<std::byte* const>, std::int32_t*) {
  throw InternalError("samples without a table were asked for their numbers");
}

std::shared_ptr<BatchPasses> array_batches(const Arrays& columns, std::int64_t batch_size, bool shuffle, bool stay) {
  return std::make_shared<ArrayBatches>(columns, batch_size, shuffle, stay);
}

std::shared_ptr<BatchSource> batches_of_size(std::shared_ptr<BatchSource> source, std::int64_t size) {
  return std::make_shared<BatchesOfSize>(std::move(source), size);
}

DatasetBatches::DatasetBatches(const std::string& who, const data::Dataset& dataset, bool goes_on)
    : who_(who), dataset_(dataset), goes_on_(goes_on) {
  open();
  for (const Array& column : *ahead_) row_types_.push_back(row_type(who, column));
  batch_size_ = ahead_->front().shape()[0];
  check(*ahead_);
  if (batch_size_ == 0) throw Error(fmt::format("{}: the first batch of the data set is empty", who));
}

void DatasetBatches::open() {
  DatasetPass pass = begin_pass(dataset_);
  ahead_ = pass.iterator.next();
  if (!ahead_ || ahead_->empty()) throw Error(fmt::format("{}: the data set is empty", who_));
  pass_.emplace(std::move(pass));
}

void DatasetBatches::check(const data::Element& element) const {
  std::vector<Type> types;
  for (const Array& column : element) {
    types.push_back(row_type(who_, column));
    if (column.shape()[0] != element.front().shape()[0])
      throw Error(
          fmt::format("{}: a batch of the data set has {} samples in one column and {} in another; call batch() "
                      "on the data set",
                      who_, element.front().shape()[0], column.shape()[0]));
  }
  if (types != row_types_)
    throw Error(fmt::format("{}: a batch of the data set has samples of {} but the first had {}; they must not change",
                            who_, column_texts(types), column_texts(row_types_)));
}

std::int64_t DatasetBatches::upcoming(std::int64_t) {
  if (!ahead_) ahead_ = pass_->iterator.next();
  if (!ahead_) return 0;
  check(*ahead_);
  const std::int64_t count = ahead_->front().shape()[0];
  if (count > batch_size_)
    throw Error(
        fmt::format("{}: a batch of the data set has {} samples but the first had {}; later ones must not be "
                    "larger",
                    who_, count, batch_size_));
  return count;
}

std::int64_t DatasetBatches::next(std::int64_t limit, std::span<std::byte* const> columns) {
  const std::int64_t count = upcoming(limit);
  if (count == 0) return 0;
  for (std::size_t i = 0; i < ahead_->size(); ++i)
    if (columns[i] != nullptr) std::memcpy(columns[i], (*ahead_)[i].raw(), (*ahead_)[i].bytes());
  ahead_.reset();
  return count;
}

void DatasetBatches::begin(std::uint64_t) {
  if (!pass_) open();
}

void DatasetBatches::end(std::int64_t batches) {
  if (goes_on_) pass_->used += batches;
  else pass_.reset();
}

Arrays DatasetBatches::sources() const { return data::DatasetState::sources(dataset_); }

DataPosition DatasetBatches::position(std::int64_t batches) const {
  if (!pass_) return {.now = data::DatasetState::of(dataset_)};
  DataPosition position = position_of(dataset_, *pass_);
  position.batches += batches;
  return position;
}

void DatasetBatches::restore(const DataPosition& position) {
  pass_.reset();
  ahead_.reset();
  if (position.pass) pass_.emplace(open_pass(dataset_, position));
}

void DatasetBatches::restore_now(const DataPosition& position) { data::DatasetState::restore(dataset_, position.now); }

}  // namespace pando
