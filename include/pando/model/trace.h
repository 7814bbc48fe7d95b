// SPDX-License-Identifier: Apache-2.0
// Parameters, and the trace that turns a model of any front end into the graph of a step.
#pragma once
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <optional>

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
  // Programs that are made later keep the value in this memory of the host, which has it already; see Variables.
  void adopt(void* data, std::shared_ptr<const void> owner);
  // For a parameter that has adopted memory: to be called before and after its programs run.
  void note_change();
  void bring_back();

  friend bool operator==(const Parameter& a, const Parameter& b) { return a.state_ == b.state_; }

 private:
  friend class Trace;
  struct State;
  std::shared_ptr<State> state_;
};

// What is known while a model is turned into a graph. Do not keep it: it lives only while the graph is built.
class PANDO_API Trace {
 public:
  // A training step updates weights, drops out and uses the statistics of its batch.
  Trace(Graph& graph, bool training);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  Graph& graph() const;
  bool training() const;
  // For a part of the model that trains, or does not train, unlike the rest.
  void set_training(bool training);

  // The value before the update. Repeated calls return the same variable of the graph. Throws Error if another
  // parameter has the same name.
  Value value_of(const Parameter& parameter);
  // The parameter takes the value at the end of the step.
  void assign(const Parameter& parameter, Value value);
  // The same for a parameter that each micro-batch changes, such as a moving average. Replicas take the mean of their
  // values. A layer that is called several times in a step assigns as often: the last value is what the parameter
  // takes.
  void assign_statistic(const Parameter& parameter, Value value);
  // What code reads that may run after such an assignment: the value assigned last, as a constant for gradients, or
  // value_of() if there is none yet.
  Value current_value_of(const Parameter& parameter);
  // Whether assign_statistic() was called for it.
  bool has_new_statistic(const Parameter& parameter) const;
  // 0, 1, 2... for the random ops of this seed, so that a layer which is called twice draws twice.
  std::int64_t next_stream(std::int64_t seed);
  // The first pipeline stage that uses the parameter; it updates the parameter. any_stage if there are no stages.
  std::int32_t stage_of(const Parameter& parameter);
  // The parameters that were used, in the order of their first use.
  const std::vector<Parameter>& parameters() const;
  // Gives the parameter this name in this graph instead of its own. Call it before the parameter is used.
  void set_name(const Parameter& parameter, const std::string& name);
  const std::string& name_of(const Parameter& parameter) const;

  // The number of the update and that of the first sample of the batch, int64 [2], for random ops.
  Value counter();
  // The number of the update alone, for the arithmetic of optimizers: a float64 scalar, exact up to 2^53.
  Value update_number();
  // 1 for each real sample of the batch and 0 for each that only fills it up, [batch]. No value if the batch has no
  // filling.
  Value sample_mask() const;
  void set_sample_mask(Value mask);

  // Promises that the value has rows for each sample which depend on no other sample, where its ops do not show it.
  void promise_rows(Value value);
  const std::vector<Value>& promised_rows() const;

  // What a loss takes as targets: numbers of classes, 0 to count - 1, or `ignored`. Where they are fed, each call
  // refuses others before a step computes with them.
  struct Classes {
    Value targets;
    std::int64_t count = 0;
    std::optional<std::int64_t> ignored = {};
    // The name of the loss and that of its node, for messages.
    std::string loss = {}, name = {};
  };
  void expect_classes(const Classes& classes);
  const std::vector<Classes>& expected_classes() const;

  // Adds a term to the loss of a Keras model: one number, or one for each sample, whose mean then counts.
  void add_loss(Value term);
  const std::vector<Value>& losses() const;

  // Makes the parameters the variables of a program of this graph.
  void bind(Variables& variables) const;

  // Expires with the trace, so that tensors know whether their trace still exists.
  std::weak_ptr<const void> life() const { return state_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace pando
