// SPDX-License-Identifier: Apache-2.0
// What a Tensor is made of: a value under a trace, or the record of a call that will make it.
#pragma once
#include <pando/model/tensor.h>

#include <optional>

namespace pando {

// A call of a layer or a function on recorded tensors. An input of a model has no function.
struct Recording {
  std::string name;
  // The class that a summary shows: "Conv2D".
  std::string kind;
  std::vector<Tensor> inputs;
  TensorFunction function;
  std::vector<Type> outputs;
  // The front end's layer, if a layer was called, and how often it had been called before.
  std::shared_ptr<void> layer = {};
  int call = 0;
  // Whether the call asked for training; if unset, it follows the model around it.
  std::optional<bool> training = {};
  // What else the call gave to the layer.
  std::shared_ptr<const void> arguments = {};
  // The stage of the PipelineStage scope that the call was made in.
  std::optional<int> stage = {};
};

struct Tensor::State {
  Type type;
  // Traced; the trace may have ended.
  Trace* trace = nullptr;
  std::weak_ptr<const void> trace_life = {};
  Value value = {};
  // Recorded: which output of which call.
  std::shared_ptr<const Recording> recording = {};
  int output = 0;
};

class TensorRecorder {
 public:
  // Makes the outputs of a call. Their types come from running its function on a trial graph.
  static std::vector<Tensor> record(Recording recording);
  // Makes the outputs of a call whose types are known: it has no function, and its values come from elsewhere.
  static std::vector<Tensor> source(Recording recording);
  static std::vector<Tensor> outputs(const std::shared_ptr<const Recording>& recording);
  // The input of a model; axis 0 of the shape is -1.
  static Tensor input(const std::string& name, const std::string& kind, const Type& type);
};

// While it lives this thread traces a computation: a tensor from outside that meets one of the trace is imported.
class TraceScope {
 public:
  // `import` turns such a tensor into a value of the trace's graph, or throws Error. Without it, nothing can be
  // imported.
  using Import = Function<Value(const Tensor& tensor)>;
  explicit TraceScope(Trace& trace, Import import = {});
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  friend std::vector<Value> values_in(Trace&, const std::string&, const std::vector<Tensor>&);
  friend Trace* current_trace();
  Trace& trace_;
  Import import_;
  TraceScope* outer_;
};
// The trace of the innermost scope on this thread; null outside all scopes.
Trace* current_trace();

bool is_recorded(const Tensor& tensor);
// The trace's address alone does not decide: another trace may have it by now.
bool belongs_to(const Tensor& tensor, const Trace& trace);
// The trace that a call on these tensors adds to, null if they are all recorded. Throws Error naming `what` if one is
// empty or they belong to different models.
Trace* trace_of(const std::string& what, const std::vector<Tensor>& tensors);
std::vector<Value> values_in(Trace& trace, const std::string& what, const std::vector<Tensor>& tensors);

}  // namespace pando
