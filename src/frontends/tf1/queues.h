// SPDX-License-Identifier: Apache-2.0
// The queues that feed loops and pipelines, and take from them.
#pragma once
#include <deque>
#include <exception>
#include <mutex>

#include "frontends/tf1/session.h"
#include "model/batches.h"
#include "pando/frontends/tf1/compile.h"

namespace pando::ipu {

// Elements in the order of the data set, kept until they are consumed, so that several loops can take turns.
struct InfeedState final : tf1::DataSource {
  explicit InfeedState(const data::Dataset& dataset);

  const std::vector<Type> types;

  // The size of the first axis of the first column.
  std::int64_t batch_size() const { return types[0].shape.rank() > 0 ? types[0].shape[0] : 1; }

  void initialise() { go_on_with(begin_pass(dataset)); }
  std::optional<DataPosition> position() const override;
  void go_on_with(std::optional<DatasetPass> pass) override;
  // Throws Error before initialise().
  void check_initialised(const std::string& who) const;
  // Element number `index` of generation `generation` (every initialise() and every restored position begin a new one).
  // Returns nothing after the end, if the data set failed, and for an outdated generation. The thread of a feed calls
  // it.
  std::optional<data::Element> element(std::int64_t generation, std::int64_t index);
  std::int64_t consumed() const { return pass_->used; }
  void consume(std::int64_t count);
  std::int64_t generation() const { return generation_; }
  // Throws the Error of the data set, or one that says that it ended too early.
  void check_complete(const std::string& what, std::int64_t done, std::int64_t count) const;

 private:
  std::optional<data::Element> next_element();

  mutable std::mutex mutex_;
  // Empty until it is initialised. Elements are used when they are consumed.
  std::optional<DatasetPass> pass_;
  std::deque<data::Element> ahead_;
  // The error of the data set; the elements before it are good.
  std::exception_ptr failure_;
  std::int64_t generation_ = 0;
};

struct OutfeedState {
  IPUOutfeedMode mode;
  // For each run, the values of each tensor, [steps, ...].
  std::vector<Arrays> runs = {};
  // Throws Error if their types differ from those already in the queue.
  void add(const Arrays& values);
};

}  // namespace pando::ipu

namespace pando::tf1 {

// The name of the feed of a column.
std::string infeed_name(std::size_t column);

// The elements of a queue from the first that is not consumed on. A micro-batch is an element.
class InfeedBatches final : public BatchSource {
 public:
  explicit InfeedBatches(std::shared_ptr<ipu::InfeedState> infeed);
  // Every micro-batch is full.
  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override;
  // Whether these are the elements after `used`, and the queue has not begun anew.
  bool fits(std::int64_t used) const;

 private:
  std::shared_ptr<ipu::InfeedState> infeed_;
  const std::int64_t first_, generation_;
  std::int64_t next_;
};

}  // namespace pando::tf1
