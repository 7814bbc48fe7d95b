// Loops on the device.
#pragma once
#include "frontends/tf1/computation.h"
#include "frontends/tf1/queues.h"

namespace pando::tf1 {

class LoopSegment : public Segment {
 public:
  LoopSegment(std::int64_t count, std::shared_ptr<ipu::InfeedState> infeed)
      : count_(count), infeed_(std::move(infeed)) {}

  TracedGraph traced;
  // For tracing: the body puts tensors into the queue at every step.
  void add_outfeed(const std::shared_ptr<ipu::OutfeedState>& queue, const std::vector<Value>& values);

  void finish(Computation& computation) override;
  void run(const Arrays& inputs) override;
  std::vector<Parameter> parameters() const override { return traced.trace.parameters(); }
  Program* program() override { return &*program_; }
  Explanation explain(const Target& target) const override;

 protected:
  // Throws Error if the queue does not have that many elements.
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
  // The position of the feed, to know whether it is still right.
  std::int64_t next_element_ = 0, generation_ = 0;
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
  // A separate program: a step of the body sees the variables as they were before it.
  std::optional<Program> condition_program_;
};

}  // namespace pando::tf1
