// SPDX-License-Identifier: Apache-2.0
// What there is to know about an op, as plain data. ops/ops.def lists all of them.
#pragma once
#include <pando/graph/graph.h>

#include <string_view>

namespace pando {

enum class Op : std::uint16_t;

// One use of an op while its types are inferred.
struct OpCall {
  const OpDefinition& op;
  std::span<const Type> inputs;
  const Attributes& attributes;
  std::string_view name;

  const Shape& shape(std::size_t input) const { return inputs[input].shape; }
  DType dtype(std::size_t input) const { return inputs[input].dtype; }
  // Throws Error: the op, the node's name, then `text`, which gives shapes or values and the remedy.
  [[noreturn]] void fail(const std::string& text) const;
};

// One use of an op while its gradient is built. Only needed gradients are built: a gradient function returns an empty
// Value for every input with needed[i] false.
struct GradientCall {
  Graph& graph;
  Node node;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  // Empty where an output has no influence on the loss.
  std::vector<Value> gradients;
  std::vector<bool> needed;
};

struct AttributeDefinition {
  std::string_view name;
  Attribute default_value;
};

// What a node stands for if it does not compute.
enum class Role : std::uint8_t {
  compute,
  input,
  variable,
  constant,
  // The number of the update and of the first sample of the micro-batch in it, which the executor writes.
  counter,
  // It spans an update and does not compute: compiling removes it.
  span,
};

struct OpDefinition {
  Op id;
  std::string_view name;
  std::string_view doc;
  std::vector<AttributeDefinition> attributes = {};
  int min_inputs = 1;
  // Equal to min_inputs unless given; -1 for any number.
  int max_inputs = min_inputs;
  // The types of the outputs; throws through OpCall::fail.
  std::vector<Type> (*infer)(const OpCall& call) = nullptr;
  // The gradients of the inputs, written in graph ops; null if there is none (integer or discontinuous results).
  std::vector<Value> (*gradient)(const GradientCall& call) = nullptr;
  Role role = Role::compute;
  // Output element i depends only on the elements i of the broadcast inputs; `parameters` names its numeric attributes.
  bool elementwise = false;
  std::vector<std::string_view> parameters = {};
  // The input that an output may be written over, or -1; the kernel reads each element before it writes it. An
  // elementwise op may write over any input of the type of its output.
  int (*in_place)(const Node& node, int output) = nullptr;
  // A multi-tensor update of parameters, laid out as ops/update.h says.
  bool is_update = false;
  // The output has no memory of its own. It shares the first input's: all of it under another shape or, if it is
  // strided, elements at regular steps.
  bool is_view = false, is_strided = false;
  // This many of the first inputs may be strided.
  int strided_inputs = 0;
  // Input 1 numbers places along an axis of input 0: that of the attribute "axis", or the first one if there is no such
  // attribute. An index out of range ends the run with an error.
  bool checks_indices = false;
  // f(max(a, b)) = max(f(a), f(b)): pooling may move before it.
  bool monotone = false;
  // The number of floating-point operations, unless it is about one per element.
  double (*flops)(const std::vector<Type>& inputs, const std::vector<Type>& outputs,
                  const Attributes& attributes) = nullptr;
};

inline bool is_role(const Node& node, Role role) { return node.op->role == role; }
// Whether it only says where a value comes from.
inline bool is_source(const Node& node) { return !is_role(node, Role::compute) && !is_role(node, Role::span); }

}  // namespace pando
