// SamplePasses: successive passes over samples, and the position in them.
#pragma once
#include "model/batches.h"
#include "model/data_position.h"

namespace pando::keras {

class SamplePasses {
 public:
  virtual ~SamplePasses() = default;
  // The batches of the next epoch; the key decides their order.
  virtual std::shared_ptr<BatchSource> begin(std::uint64_t key) = 0;
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

// Rows of arrays of equal first size, in another order for each key if `shuffle`.
std::shared_ptr<SamplePasses> array_passes(const Arrays& columns, std::int64_t batch_size, bool shuffle);
// Each epoch is a separate pass or, with `goes_on`, a part of one pass over the data set. `first` is its first pass,
// begun when the data set's state was `before`.
std::shared_ptr<SamplePasses> dataset_passes(const std::string& who, const data::Dataset& dataset, bool goes_on,
                                             std::shared_ptr<DatasetBatches> first, const Json& before);

}  // namespace pando::keras
