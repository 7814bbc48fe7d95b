#include "frontends/keras/run/sample_passes.h"

#include "data/pipeline/recipe.h"
#include "data/pipeline/shuffled_order.h"

namespace pando::keras {

namespace {

class ArrayPasses : public SamplePasses {
 public:
  ArrayPasses(const Arrays& columns, std::int64_t batch_size, bool shuffle)
      : columns_(columns), batch_size_(batch_size), shuffle_(shuffle) {}

  std::shared_ptr<BatchSource> begin(std::uint64_t key) override {
    const std::int64_t count = columns_.front().shape()[0];
    std::shared_ptr<BatchSource> source =
        array_batches(columns_, shuffle_ ? shuffled_order(count, key) : std::vector<std::int64_t>());
    skip_batches(*source, used_before_, batch_size_, columns_.size());
    return source;
  }
  void end(std::int64_t) override { used_before_ = 0; }
  Arrays sources() const override { return columns_; }
  DataPosition position(std::int64_t batches) const override { return {.batches = used_before_ + batches}; }
  void restore(const DataPosition& position) override { used_before_ = position.batches; }
  void restore_now(const DataPosition&) override {}

 private:
  Arrays columns_;
  std::int64_t batch_size_;
  bool shuffle_;
  // Batches of the epoch that were used before begin().
  std::int64_t used_before_ = 0;
};

class DatasetPasses : public SamplePasses {
 public:
  DatasetPasses(const std::string& who, const data::Dataset& dataset, bool goes_on,
                std::shared_ptr<DatasetBatches> first, const Json& before)
      : who_(who), dataset_(dataset), goes_on_(goes_on), pass_(std::move(first)), before_(before) {}

  std::shared_ptr<BatchSource> begin(std::uint64_t) override {
    if (!pass_) open();
    return pass_;
  }

  void end(std::int64_t batches) override {
    used_before_ = goes_on_ ? used_before_ + batches : 0;
    if (!goes_on_) pass_ = nullptr;
  }

  Arrays sources() const override { return data::DatasetState::sources(dataset_); }

  DataPosition position(std::int64_t batches) const override {
    return {.pass = pass_ ? std::optional(before_) : std::nullopt,
            .batches = used_before_ + batches,
            .now = data::DatasetState::of(dataset_)};
  }

  void restore(const DataPosition& position) override {
    pass_ = nullptr;
    used_before_ = position.batches;
    if (!position.pass) return;
    data::DatasetState::restore(dataset_, *position.pass);
    open();
    skip_batches(*pass_, position.batches, pass_->batch_size(), pass_->row_types().size());
  }
  void restore_now(const DataPosition& position) override { data::DatasetState::restore(dataset_, position.now); }

 private:
  void open() {
    before_ = data::DatasetState::of(dataset_);
    pass_ = std::make_shared<DatasetBatches>(who_, dataset_);
  }

  std::string who_;
  data::Dataset dataset_;
  bool goes_on_;
  // The pass that is open or that the next epoch begins with; if null, the next epoch opens one.
  std::shared_ptr<DatasetBatches> pass_;
  Json before_;
  // Batches of the pass that were used before begin().
  std::int64_t used_before_ = 0;
};

}  // namespace

std::shared_ptr<SamplePasses> array_passes(const Arrays& columns, std::int64_t batch_size, bool shuffle) {
  return std::make_shared<ArrayPasses>(columns, batch_size, shuffle);
}

std::shared_ptr<SamplePasses> dataset_passes(const std::string& who, const data::Dataset& dataset, bool goes_on,
                                             std::shared_ptr<DatasetBatches> first, const Json& before) {
  return std::make_shared<DatasetPasses>(who, dataset, goes_on, std::move(first), before);
}

}  // namespace pando::keras
