#include "model/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pando {

namespace {

std::size_t row_bytes(const Type& type) {
  return static_cast<std::size_t>(type.shape.elements()) * size_of(type.dtype);
}

class ArrayBatches : public BatchSource {
 public:
  ArrayBatches(Arrays columns, std::vector<std::int64_t> order)
      : columns_(std::move(columns)), order_(std::move(order)) {
    for (const Array& column : columns_) bytes_.push_back(row_bytes(row_type("batches", column)));
  }

  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override {
    const std::int64_t count = std::min(limit, columns_.front().shape()[0] - first_);
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns[i] != nullptr) copy(columns_[i].raw(), bytes_[i], count, columns[i]);
    first_ += count;
    return count;
  }

 private:
  void copy(const std::byte* rows, std::size_t bytes, std::int64_t count, std::byte* out) const {
    if (order_.empty()) {
      std::memcpy(out, rows + static_cast<std::size_t>(first_) * bytes, static_cast<std::size_t>(count) * bytes);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i, out += bytes)
      std::memcpy(out, rows + static_cast<std::size_t>(order_[static_cast<std::size_t>(first_ + i)]) * bytes, bytes);
  }

  Arrays columns_;
  std::vector<std::int64_t> order_;
  std::vector<std::size_t> bytes_;
  std::int64_t first_ = 0;
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

std::unique_ptr<BatchSource> array_batches(Arrays columns, std::vector<std::int64_t> order) {
  return std::make_unique<ArrayBatches>(std::move(columns), std::move(order));
}

void skip_batches(BatchSource& source, std::int64_t batches, std::int64_t limit, std::size_t columns) {
  const std::vector<std::byte*> nowhere(columns, nullptr);
  while (batches-- > 0 && source.next(limit, nowhere) > 0) {
  }
}

DatasetBatches::DatasetBatches(const std::string& who, const data::Dataset& dataset)
    : who_(who), iterator_(dataset.iterator()), ahead_(iterator_.next()) {
  if (!ahead_ || ahead_->empty()) throw Error(fmt::format("{}: the data set is empty", who));
  for (const Array& column : *ahead_) row_types_.push_back(row_type(who, column));
  batch_size_ = ahead_->front().shape()[0];
  check(*ahead_);
  if (batch_size_ == 0) throw Error(fmt::format("{}: the first batch of the data set is empty", who));
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

std::int64_t DatasetBatches::next(std::int64_t limit, std::span<std::byte* const> columns) {
  if (!ahead_) ahead_ = iterator_.next();
  if (!ahead_) return 0;
  check(*ahead_);
  const std::int64_t count = ahead_->front().shape()[0];
  if (count > limit)
    throw Error(
        fmt::format("{}: a batch of the data set has {} samples but the first had {}; later ones must not be "
                    "larger",
                    who_, count, batch_size_));
  for (std::size_t i = 0; i < ahead_->size(); ++i)
    if (columns[i] != nullptr) std::memcpy(columns[i], (*ahead_)[i].raw(), (*ahead_)[i].bytes());
  ahead_.reset();
  return count;
}

}  // namespace pando
