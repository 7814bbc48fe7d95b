// Loops on the device, and the queues that feed them and take from them.
#pragma once
#include <deque>
#include <mutex>

#include "frontends/tf1/computation.h"

namespace pando::ipu {

// Elements in the order of the data set, kept until they are consumed, so that several loops can take turns.
struct InfeedState {
  explicit InfeedState(const data::Dataset& dataset);

  const data::Dataset dataset;
  const std::vector<Type> types;

  void initialise();
  // Throws Error before initialise().
  void check_initialised(const std::string& who) const;
  // Element number `index` since it was initialised for the generation'th time; nothing behind the end, where the data
  // set failed, and for a feed that is behind the times. For a thread that feeds.
  std::optional<data::Element> element(std::int64_t generation, std::int64_t index);
  std::int64_t consumed() const { return consumed_; }
  void consume(std::int64_t count);
  std::int64_t generation() const { return generation_; }
  // Throws Error where there should have been more elements: the data set's own, or that it ended.
  void check_complete(const std::string& what, std::int64_t done, std::int64_t count) const;

 private:
  std::optional<data::Element> next_element();

  mutable std::mutex mutex_;
  std::optional<data::Dataset::Iterator> iterator_;
  std::deque<data::Element> ahead_;
  // Of the data set; the elements before it are good.
  std::exception_ptr failure_;
  std::int64_t consumed_ = 0, generation_ = 0;
};

struct OutfeedState {
  IPUOutfeedMode mode;
  // Of each run, the values of each tensor, [steps, ...].
  std::vector<Arrays> runs = {};
  // Throws Error if they are of other types than those that wait in it.
  void add(const Arrays& values);
};

}  // namespace pando::ipu

namespace pando::tf1 {

// Where the feeds of a loop's program come from.
class InfeedPorts {
 public:
  InfeedPorts(const std::vector<PortInfo>& feeds, std::shared_ptr<ipu::InfeedState> infeed);
  static std::string name(std::size_t column);
  // Writes the feeds of one micro-batch from an element. `update` and `sample` are what random numbers depend on.
  void write(const data::Element& element, std::int64_t update, std::int64_t sample,
             std::span<std::byte* const> feeds) const;
  std::size_t count() const { return column_of_feed_.size(); }

 private:
  std::shared_ptr<ipu::InfeedState> infeed_;
  // -1: the counter.
  std::vector<int> column_of_feed_;
};

class LoopSegment : public Segment {
 public:
  LoopSegment(std::int64_t count, std::shared_ptr<ipu::InfeedState> infeed)
      : count_(count), infeed_(std::move(infeed)) {}

  TracedGraph traced;
  // While it is traced: the body puts tensors into the queue at every step.
  void add_outfeed(const std::shared_ptr<ipu::OutfeedState>& queue, const std::vector<Value>& values);

  void finish(Computation& computation) override;
  void run(const Arrays& inputs) override;
  std::vector<Parameter> parameters() const override { return traced.trace.parameters(); }

 protected:
  // Throws Error if the queue has not as many elements.
  void run_steps(std::int64_t count);

 private:
  void begin_feed();

  struct Outfeed {
    std::shared_ptr<ipu::OutfeedState> queue;
    std::vector<std::string> outputs;
  };
  std::int64_t count_;
  std::shared_ptr<ipu::InfeedState> infeed_;
  std::vector<Outfeed> outfeeds_;
  std::optional<Program> program_;
  std::optional<Feed> feed_;
  // Where the feed is, to know whether it still fits.
  std::int64_t next_update_ = 0, next_element_ = 0, generation_ = 0;
};

// Goes on while the condition is true.
class WhileSegment final : public LoopSegment {
 public:
  explicit WhileSegment(std::shared_ptr<ipu::InfeedState> infeed) : LoopSegment(0, std::move(infeed)) {}
  TracedGraph condition;

  void finish(Computation& computation) override;
  void run(const Arrays& inputs) override;
  std::vector<Parameter> parameters() const override;

 private:
  // A program of its own: a step of the body sees the variables as they were before it.
  std::optional<Program> condition_program_;
};

}  // namespace pando::tf1
