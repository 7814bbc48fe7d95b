// SPDX-License-Identifier: Apache-2.0
// Loops on the device.
#pragma once
#include "frontends/tf1/computation.h"
#include "frontends/tf1/queues.h"
#include "model/run_loop.h"

namespace pando::tf1 {

class LoopSegment : public Segment {
 public:
  LoopSegment(std::int64_t count, std::shared_ptr<ipu::InfeedState> infeed)
      : infeed_(std::move(infeed)), count_(count) {}

  TracedGraph traced;
  // For tracing: the columns of the queue.
  std::vector<Tensor> infeed_tensors();
  // For tracing: puts tensors into the queue at every step. Without a queue they are made, but not kept.
  void add_outfeed(const std::shared_ptr<ipu::OutfeedState>& queue, const std::vector<Value>& values);

  void finish(Computation& computation) override;
  void run(const Arrays& inputs) override;
  std::vector<Parameter> parameters() const override { return traced.trace.parameters(); }
  Program* program() override { return &step_->program; }
  Explanation explain(const Target& target) const override;

 protected:
  void compile(Computation& computation, const std::vector<Device>& devices, const Division& division);
  // Throws Error if the queue ends before that many rows; the message calls them `what`, such as "steps".
  void run_rows(std::int64_t rows, const char* what);

  std::shared_ptr<ipu::InfeedState> infeed_;

 private:
  struct Outfeed {
    std::shared_ptr<ipu::OutfeedState> queue;
    std::vector<std::string> outputs;
  };
  std::int64_t count_;
  std::vector<Outfeed> outfeeds_;
  std::optional<Step> step_;
  // Kept from one run to the next, with the elements that were read ahead, as long as its place in the queue is right.
  std::shared_ptr<InfeedBatches> batches_;
  std::optional<RunLoop> loop_;
  // Batches that the loop has run; negative after an error.
  std::int64_t used_ = 0;
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
