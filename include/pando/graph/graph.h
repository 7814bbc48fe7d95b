// SPDX-License-Identifier: Apache-2.0
// The graph of one step: what a front end builds and the compiler takes.
#pragma once
#include <pando/graph/attributes.h>

#include <compare>
#include <span>
#include <string_view>

namespace pando {

class Graph;
struct OpDefinition;

// What is known about a value before anything runs.
struct Type {
  DType dtype = DType::float32;
  Shape shape;
  std::size_t bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(dtype); }
  friend bool operator==(const Type&, const Type&) = default;
};

inline Type type_of(const Array& array) { return {array.dtype(), array.shape()}; }

// "float32[2, 3]".
PANDO_API std::string to_string(const Type& type);

// Names a value within its graph: output number `output` of node number `node`.
struct ValueId {
  std::int32_t node = -1;
  std::int32_t output = 0;
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

// A handle to a value of a living Graph. A default-constructed one refers to no value.
class PANDO_API Value {
 public:
  Value() = default;
  Value(Graph& graph, ValueId id) : graph_(&graph), id_(id) {}

  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const;
  ValueId id() const { return id_; }
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }

 private:
  Graph* graph_ = nullptr;
  ValueId id_;
};

// The stage of a node that depends on sources alone: every stage that uses it computes it.
inline constexpr std::int32_t any_stage = -1;

struct Node {
  const OpDefinition* op = nullptr;
  std::vector<ValueId> inputs;
  Attributes attributes;
  std::vector<Type> outputs;
  // Where it comes from, such as "layer1/conv". Messages and reports use it.
  std::string name;
  // The part of the step that it belongs to, if the step is divided over several devices.
  std::int32_t stage = any_stage;
  // What its name begins with: the layer or module whose call made it, such as "layer1", which may contain a '/'.
  std::string layer = {};
};

// What an input or an output of a graph is connected to. Front ends use host and result; dividing a step makes the
// others.
enum class PortKind : std::uint8_t {
  host,        // fed by the host, for each micro-batch
  activation,  // from the stage before to the next
  gradient,    // from the next stage to the stage before
  stash,       // from the forward pass of a stage to its backward pass
  sum,         // an output that is summed over the micro-batches and replicas of an update
  exchange,    // from the end of an update's last micro-batch in one stage to the update of the others
  result,      // returned to the host
};
PANDO_API std::string_view name(PortKind kind);
// Finds the kind by its name; throws Error for an unknown name.
PANDO_API PortKind port_kind_named(std::string_view name);

// What a variable is for.
enum class VariableRole : std::uint8_t {
  weight,
  statistic,  // such as a moving average, which each micro-batch assigns
  slot,       // what an optimizer keeps for a weight
  rate,       // what a user may set between two executions, such as a learning rate
  sum,        // a sum of gradients, which belongs to a program
  carried,    // a value carried between two programs
};
PANDO_API std::string_view name(VariableRole role);
PANDO_API VariableRole variable_role_named(std::string_view name);

// A value that leaves the program, either of the last step of an execution or of every step.
struct Output {
  std::string name;
  ValueId value;
  bool every_step = false;
  PortKind kind = PortKind::result;
  // Its number among the outputs of its kind.
  std::int32_t number = 0;
};

// At the end of a step the variable takes the value.
struct Assignment {
  ValueId variable;
  ValueId value;
};

// A step as a list of nodes, each after the nodes that it uses. A node's types are known when it is made; add() throws
// Error if an op refuses its inputs.
class PANDO_API Graph {
 public:
  // Adds a node and returns its outputs. Absent attributes take the op's defaults.
  std::vector<Value> add(const OpDefinition& op, const std::vector<Value>& inputs, Attributes attributes = {});
  void add_output(const std::string& name, Value value, bool every_step = false);
  void add_output(const std::string& name, Value value, PortKind kind, std::int32_t number);
  // Throws Error unless `variable` is a variable of the value's type.
  void assign(Value variable, Value value);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(ValueId id) const { return nodes_[static_cast<std::size_t>(id.node)]; }
  const Type& type(ValueId id) const { return node(id).outputs[static_cast<std::size_t>(id.output)]; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Assignment>& assignments() const { return assignments_; }
  Value value(ValueId id) { return {*this, id}; }

  // The highest stage of a node + 1, at least 1.
  int stages() const { return last_stage_ + 1; }
  // The stage of new nodes.
  std::int32_t stage() const { return stage_; }
  // New nodes belong to this stage, until a StageScope around it ends.
  void begin_stage(std::int32_t stage) { stage_ = stage; }

  // While it lives, new nodes belong to `stage`.
  class PANDO_API StageScope {
   public:
    StageScope(Graph& graph, std::int32_t stage);
    ~StageScope();
    StageScope(const StageScope&) = delete;
    StageScope& operator=(const StageScope&) = delete;

   private:
    Graph& graph_;
    std::int32_t outer_;
  };

  // What new nodes are named.
  const std::string& scope() const { return scope_; }
  // While it lives, new nodes are named `name`, under the scopes around it. The outermost scope is their layer.
  class PANDO_API Scope {
   public:
    Scope(Graph& graph, const std::string& name);
    // New nodes have the layer and the name of `node`, with `part` under it, whatever the scopes around it.
    Scope(Graph& graph, const Node& node, const std::string& part = {});
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    std::string outer_, outer_layer_;
  };

 private:
  friend class GraphEditor;

  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<Assignment> assignments_;
  std::string scope_, layer_;
  std::int32_t stage_ = any_stage;
  std::int32_t last_stage_ = 0;
};

// The text form, one node a line; parse_graph (src/graph/parse.h) reads it back.
PANDO_API std::string to_string(const Graph& graph);

}  // namespace pando
