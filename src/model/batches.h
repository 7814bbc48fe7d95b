// BatchSource: samples one batch after the other, as columns: inputs, then targets, then sample weights.
#pragma once
#include <pando/data/dataset.h>
#include <pando/graph/graph.h>

#include <memory>
#include <span>

namespace pando {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Copies the next samples, at most `limit`, to the memory of each column (null if it is not wanted), and returns how
  // many it copied; 0 at the end.
  virtual std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) = 0;
};

// Rows of arrays of equal first size, gathered by number; an empty order takes them as they lie.
std::unique_ptr<BatchSource> array_batches(Arrays columns, std::vector<std::int64_t> order);

// The batches of a Dataset: each element is a batch, its columns with samples along axis 0. It can be looked into
// before the batches are taken.
class DatasetBatches : public BatchSource {
 public:
  // `who` begins messages: "fit".
  DatasetBatches(const std::string& who, const data::Dataset& dataset);
  // The types of the columns' rows, and the batch size, of the first element. Throws Error if there is none.
  const std::vector<Type>& row_types() const { return row_types_; }
  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override;

 private:
  void check(const data::Element& element) const;

  std::string who_;
  data::Dataset::Iterator iterator_;
  std::optional<data::Element> ahead_;
  std::vector<Type> row_types_;
  std::int64_t batch_size_ = 0;
};

// Skips up to `batches` batches of at most `limit` samples.
void skip_batches(BatchSource& source, std::int64_t batches, std::int64_t limit, std::size_t columns);

// The type of a row, without axis 0. Throws Error naming `who` for a scalar.
Type row_type(const std::string& who, const Array& array);

}  // namespace pando
