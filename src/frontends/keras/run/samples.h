// The samples that fit, evaluate and predict are given: checked against the model, then given out batch by batch.
#pragma once
#include <mutex>

#include "frontends/keras/run/sample_passes.h"
#include "frontends/keras/run/step.h"
#include "model/batches.h"

namespace pando::keras {

// Where batches come from, whether arrays or a Dataset.
struct Samples {
  // The types of one sample: inputs, targets, and float32 weights if there are any.
  std::vector<Type> columns;
  std::int64_t batch_size = 0;
  // The number of batches of one pass; negative if it is not known.
  std::int64_t steps = -1;
  // The number of samples in all; negative if it is not known.
  std::int64_t count = -1;
  std::shared_ptr<SamplePasses> passes;
};

// What the samples are for: `who` begins messages ("fit"), and the rest says what columns there must be.
struct SampleUse {
  std::string who;
  std::size_t inputs = 1, targets = 1;
};

// Throws Error if sizes differ, nothing is given, or the weights are not one number per sample.
Samples samples_of(const SampleUse& use, const Arrays& x, const Arrays& y, const std::optional<Array>& sample_weight,
                   std::int64_t batch_size, bool shuffle);
// With `steps`, the next epoch continues the data set where the last one stopped.
Samples samples_of(const SampleUse& use, const data::Dataset& dataset, std::int64_t steps);

// Whether there is a column of weights.
bool has_weights(const SampleUse& use, const Samples& samples);

// Throws Error naming input or target, shapes and remedy unless the model can take the samples.
void check_samples(const SampleUse& use, const Samples& samples, const Network& network,
                   const std::vector<OutputGoals>& goals);
// Throws Error naming the first label that the loss of its output cannot take.
void check_labels(const SampleUse& use, const Arrays& y, const Network& network, const std::vector<OutputGoals>& goals);

// Throws Error for a class that the model's output does not have.
void check_class_weight(const SampleUse& use, const std::map<std::int64_t, double>& class_weight,
                        const Network& network, const std::vector<OutputGoals>& goals);

// How many samples each batch was given, 0 for those of spare replicas. The thread of the feed writes it.
class SampleCounts {
 public:
  void add(std::int64_t count) {
    const std::lock_guard lock(mutex_);
    of_batch_.push_back(count);
  }
  std::int64_t of_batch(std::int64_t batch) const {
    const std::lock_guard lock(mutex_);
    return of_batch_.at(static_cast<std::size_t>(batch));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> of_batch_;
};

// Fills the feeds of a step: pads the last batch, weighs samples and counts them.
class StepFeeder {
 public:
  struct Options {
    SampleUse use;
    std::shared_ptr<BatchSource> source;
    // At most this many batches are taken; all if negative.
    std::int64_t steps = -1;
    // A row has a batch for each replica.
    std::int64_t replicas = 1;
    // The scale of each batch: 1 over its samples, or 1 if the program divides by the samples of the update.
    bool scale_by_samples = true;
    bool weighted = false;
    std::map<std::int64_t, double> class_weight = {};
  };
  StepFeeder(const Step& step, const Network& network, const std::vector<OutputGoals>& goals, Options options);
  // Fills row number `row`: the feeds of the first replica, then those of the next. Spare replicas get batches without
  // samples.
  bool operator()(std::int64_t row, std::span<std::byte* const> feeds);

  std::shared_ptr<const SampleCounts> counts() const { return counts_; }

 private:
  struct Column {
    Type type;
    // The index among the program's feeds; negative if the program does not need it.
    int feed = -1;
    std::vector<std::byte> scratch = {};
    // The labels that the loss takes are below this; 0 if any are allowed.
    std::int64_t classes = 0;
  };
  std::byte* memory(Column& column, std::span<std::byte* const> feeds) const;
  std::int64_t take_batch(std::int64_t number, std::span<std::byte* const> feeds);
  void fill_up(std::int64_t count, std::span<std::byte* const> feeds, std::span<std::byte* const> example);
  void weigh(std::int64_t count, std::span<std::byte* const> feeds);
  void weigh_classes(std::span<std::byte* const> feeds, std::int64_t count, float* weights);

  StepRequest request_;
  Options options_;
  std::vector<Column> columns_;
  Column weights_;
  std::size_t feeds_of_replica_ = 0;
  int scale_feed_ = -1;
  std::shared_ptr<SampleCounts> counts_;
};

}  // namespace pando::keras
