// SPDX-License-Identifier: Apache-2.0
// Computation: what ipu_compiler::compile makes from a function: a list of segments that run one after the other.
#pragma once
#include <pando/frontends/tf1/compile.h>

#include <atomic>
#include <tuple>

#include "frontends/tf1/session.h"
#include "model/step.h"
#include "model/target.h"
#include "report/explain/explain.h"

namespace pando::tf1 {

class Computation;

// A graph that is being traced; it stays where it is.
struct TracedGraph {
  TracedGraph() = default;
  TracedGraph(const TracedGraph&) = delete;
  TracedGraph& operator=(const TracedGraph&) = delete;
  Graph graph;
  Trace trace{graph, false};
  // Unique in the process. An address is not: a new graph may have that of one that an error destroyed.
  const std::int64_t number = next_number++;

 private:
  static inline std::atomic<std::int64_t> next_number{0};
};

// Runs once in each run of its computation. Values go from one segment to the next in variables.
class Segment {
 public:
  virtual ~Segment() = default;
  // Compiles; called when everything is traced.
  virtual void finish(Computation& computation) = 0;
  // `inputs` has the values of the computation's inputs.
  virtual void run(const Arrays& inputs) = 0;
  // The variables that were traced.
  virtual std::vector<Parameter> parameters() const = 0;
  // What was compiled; null if there is nothing to do.
  virtual Program* program() = 0;
  // Everything but the stages, which follow from the program.
  virtual Explanation explain(const Target& target) const = 0;
  // What a stage runs; empty if there is only one.
  virtual std::string stage_text(int) const { return ""; }
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }

 protected:
  // The number of the next update, on which optimizers and random numbers depend.
  std::int64_t updates_ = 0;
};

// Straight code.
class StepSegment final : public Segment {
 public:
  TracedGraph traced;

  void finish(Computation& computation) override;
  void run(const Arrays& inputs) override;
  std::vector<Parameter> parameters() const override { return traced.trace.parameters(); }
  Program* program() override { return step_ ? &step_->program : nullptr; }
  Explanation explain(const Target& target) const override;
  // The outputs of the last run, in the order of add_output.
  Arrays take_outputs() { return std::move(outputs_); }

 private:
  // Empty if there is nothing to do.
  std::optional<Step> step_;
  Arrays outputs_;
};

class Computation : public std::enable_shared_from_this<Computation> {
 public:
  explicit Computation(std::shared_ptr<const Target> target) : target_(std::move(target)) {}

  const Target& target() const { return *target_; }
  ProgramOptions program_options() const { return {.check_numerics = target_->check_numerics}; }
  Variables& variables() { return variables_; }
  std::vector<Tensor>& inputs() { return inputs_; }
  std::vector<std::unique_ptr<Segment>>& segments() { return segments_; }
  // "KIND/0", "KIND/1", ...
  std::string new_variable(const std::string& kind);
  // A value that passes from segment to segment, or from step to step; each run computes it before using it.
  std::string new_carried_variable() { return new_variable("carried"); }

  // Compiles, and enters the variables into the default graph; called when everything is traced.
  void finish();
  Arrays run(Evaluation& evaluation);
  // What optimizers keep for weights, by name.
  std::vector<std::string> slots() const;
  // For each segment.
  std::vector<std::int64_t> updates() const;
  void set_updates(const std::vector<std::int64_t>& updates);
  std::string explain();
  void profile(Profiler& profiler);

 private:
  std::shared_ptr<const Target> target_;
  std::vector<Tensor> inputs_;
  std::vector<std::unique_ptr<Segment>> segments_;
  Variables variables_;
  std::map<std::string, int> names_;
  std::vector<std::size_t> entries_;
};

class LoopSegment;

// Traces a computation on this thread.
class Tracer {
 public:
  explicit Tracer(Computation& computation);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  // Throws Error, beginning with `who`, if no computation is being traced.
  static Tracer& current(const std::string& who);

  Computation& computation() { return computation_; }
  StepSegment& step() { return *step_; }
  // What follows belongs to a new segment of straight code.
  void begin_step();
  // Throws Error, beginning with `who`, within a loop or a pipeline.
  void check_straight(const std::string& who) const;
  // An input of the computation, whose value the host computes.
  Value argument(const Tensor& tensor);
  // Calls the function within the graph; it may import values of the straight code before it. `loop` is the loop whose
  // body it is, or null.
  void trace(TracedGraph& graph, LoopSegment* loop, const Function<void()>& function);
  // The loop whose body is being traced, or null.
  LoopSegment* loop() const { return loop_; }

 private:
  Value import(TracedGraph& into, const Tensor& tensor);
  Value import_recorded(TracedGraph& into, const Tensor& tensor);
  Value fed(TracedGraph& into, const Tensor& tensor);
  Value carry(TracedGraph& from, Value value, TracedGraph& into);

  Computation& computation_;
  StepSegment* step_ = nullptr;
  LoopSegment* loop_ = nullptr;
  std::vector<std::unique_ptr<TraceScope>> scopes_;
  std::vector<StepSegment*> steps_;
  // By the numbers of graphs: from which, of what, into which.
  std::map<std::tuple<std::int64_t, ValueId, std::int64_t>, Value> carried_;
  // By the number of the graph that the call was traced in.
  std::map<std::pair<std::shared_ptr<const Recording>, std::int64_t>, std::vector<Value>> recorded_;
  Tracer* outer_;
};

}  // namespace pando::tf1
