// SPDX-License-Identifier: Apache-2.0
// BatchSource: samples one batch after the other, as columns: inputs, then targets, then sample weights. BatchPasses:
// one pass over them after the other, and the position in them.
#pragma once
#include <pando/graph/graph.h>

#include <memory>
#include <span>

#include "model/data_position.h"
#include "program/sample_feed.h"

namespace pando {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Copies the next samples, at most `limit`, to the memory of each column (null if it is not wanted), and returns how
  // many it copied; 0 at the end.
  virtual std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) = 0;
  // How many samples next() will copy with that limit. Only for a source whose batches may differ in size.
  virtual std::int64_t upcoming(std::int64_t limit);

  // The table that has this column under the same number, if a device may gather its samples there; null otherwise.
  virtual std::shared_ptr<const SampleTable> table_of(std::size_t) const { return nullptr; }
  // As next(), and writes the numbers of the samples in the table. Only for a source that has one.
  virtual std::int64_t next_numbered(std::int64_t limit, std::span<std::byte* const> columns, std::int32_t* numbers);
};

// No other thread may be in next() while begin(), end() or restore() run.
class BatchPasses : public BatchSource {
 public:
  // Begins the next epoch; the key decides the order of its batches.
  virtual void begin(std::uint64_t key) = 0;
  // Ends the epoch; that many batches were used since begin().
  virtual void end(std::int64_t batches) = 0;

  // The arrays that the samples are made of; nothing if a program makes them.
  virtual Arrays sources() const = 0;

  // The position after that many batches since begin(), or between epochs.
  virtual DataPosition position(std::int64_t batches = 0) const = 0;
  // The next begin() starts with the batches from there. Throws Error if the position belongs to other samples.
  virtual void restore(const DataPosition& position) = 0;
  // The second half of this. Call it after all samples that may use the same Dataset have done the first half.
  virtual void restore_now(const DataPosition& position) = 0;
};

// Samples along the first axis of arrays, in another order for each key if `shuffle`. The first array says how many
// there are; another may have several rows for each, or one row for several. With `stay`, devices may keep the arrays
// in their memory and gather the samples there; for arrays that are used once that gains nothing.
std::shared_ptr<BatchPasses> array_batches(const Arrays& columns, std::int64_t batch_size, bool shuffle,
                                           bool stay = true);

// The next batches of the source, as long as they have exactly that many samples.
std::shared_ptr<BatchSource> batches_of_size(std::shared_ptr<BatchSource> source, std::int64_t size);

// The batches of a Dataset: each element is a batch, its columns with samples along axis 0.
class DatasetBatches final : public BatchPasses {
 public:
  // Opens the first pass. Each epoch is a separate pass or, with `goes_on`, a part of one pass. `who` begins messages:
  // "fit". Throws Error if the data set is empty.
  DatasetBatches(const std::string& who, const data::Dataset& dataset, bool goes_on);
  // The types of the columns' rows, and the batch size, of the first element.
  const std::vector<Type>& row_types() const { return row_types_; }
  std::int64_t batch_size() const { return batch_size_; }

  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override;
  std::int64_t upcoming(std::int64_t limit) override;
  void begin(std::uint64_t key) override;
  void end(std::int64_t batches) override;
  Arrays sources() const override;
  DataPosition position(std::int64_t batches) const override;
  void restore(const DataPosition& position) override;
  void restore_now(const DataPosition& position) override;

 private:
  void open();
  void check(const data::Element& element) const;

  std::string who_;
  data::Dataset dataset_;
  bool goes_on_;
  // The pass that is open or that the next epoch begins with; if there is none, the next epoch opens one. Its batches
  // are used when the epoch ends.
  std::optional<DatasetPass> pass_;
  std::optional<data::Element> ahead_;
  std::vector<Type> row_types_;
  std::int64_t batch_size_ = 0;
};

// The type of a row, without axis 0. Throws Error naming `who` for a scalar.
Type row_type(const std::string& who, const Array& array);

}  // namespace pando
