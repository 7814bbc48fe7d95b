// Parameters, and the trace that turns a model of any front end into the graph of a step.
#pragma once
#include <pando/ops/ops.h>
#include <pando/program/program.h>

namespace pando {

// A weight of a model: a name, and a value that everything that uses the parameter shares. Copies are the same
// parameter.
class PANDO_API Parameter {
 public:
  Parameter(const std::string& name, const Array& value, bool trainable = true);

  const std::string& name() const;
  const Shape& shape() const { return type().shape; }
  const Type& type() const;
  // Moving averages and the like are never trained.
  bool trainable() const;

  // A copy.
  Array value() const;
  // Throws Error unless the shape is the parameter's; the type is cast.
  void set_value(const Array& value);

  friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

 private:
  friend class Trace;
  struct State;
  std::shared_ptr<State> state_;
};

// What is known while a model is turned into a graph. Not to be kept: it lives for the time of building.
class PANDO_API Trace {
 public:
  // A training step updates weights, drops out and uses the statistics of its batch.
  Trace(Graph& graph, bool training);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  Graph& graph() const;
  bool training() const;
  // For a part of the model that is used otherwise than the rest.
  void set_training(bool training);

  // The value before the update; one variable of the graph however often it is asked for. Throws Error if another
  // parameter has its name.
  Value value_of(const Parameter& parameter);
  // At the end of the step the parameter takes the value.
  void assign(const Parameter& parameter, Value value);
  // The same for what each micro-batch changes, such as a moving average: replicas take the mean of theirs.
  void assign_statistic(const Parameter& parameter, Value value);
  // The first of the pipeline stages that use the parameter, which updates it; any_stage where there are no stages.
  std::int32_t stage_of(const Parameter& parameter);
  // Those that were asked for, in that order.
  const std::vector<Parameter>& parameters() const;
  // Calls the parameter so in this graph, where it is not asked for yet, rather than by its own name.
  void set_name(const Parameter& parameter, const std::string& name);
  const std::string& name_of(const Parameter& parameter) const;

  // The number of the update and of the first sample of the batch, int64 [2]: for random ops.
  Value counter();
  // The number of the update alone, for optimizers: a float64 scalar, exact up to 2^53, which can be computed with.
  Value update_number();
  // 1 for each sample of the batch, [batch], and 0 for those that only fill it up; no value where none do.
  Value sample_mask() const;
  void set_sample_mask(Value mask);

  // Makes the parameters variables of a program of this graph.
  void bind(Variables& variables) const;

  // Ends with the trace, so that tensors know whether theirs is there.
  std::weak_ptr<const void> life() const { return state_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace pando
