// The graph of one step: what a front end builds and the compiler takes.
#pragma once
#include <pando/graph/attributes.h>

#include <compare>
#include <span>

namespace pando {

class Graph;
struct OpDefinition;

// What is known of a value before anything runs.
struct Type {
  DType dtype = DType::float32;
  Shape shape;
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

// A handle to a value of a living Graph; default-constructed it is no value.
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

struct Node {
  const OpDefinition* op = nullptr;
  std::vector<ValueId> inputs;
  Attributes attributes;
  std::vector<Type> outputs;
  // Where it comes from, "layer1/conv"; names it in messages and reports.
  std::string name;
};

// A value that leaves the program: that of the last step of an execution, or of every step.
struct Output {
  std::string name;
  ValueId value;
  bool every_step = false;
};

// At the end of a step the variable takes the value.
struct Assignment {
  ValueId variable;
  ValueId value;
};

// A step as a list of nodes, each after those it uses. Every type is known when a node is made; add() throws Error
// when an op refuses its inputs.
class PANDO_API Graph {
 public:
  // Adds a node and returns its outputs. Absent attributes take the op's defaults.
  std::vector<Value> add(const OpDefinition& op, const std::vector<Value>& inputs, Attributes attributes = {});
  void add_output(const std::string& name, Value value, bool every_step = false);
  // Throws Error unless `variable` is a variable of the value's type.
  void assign(Value variable, Value value);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(ValueId id) const { return nodes_[static_cast<std::size_t>(id.node)]; }
  const Type& type(ValueId id) const { return node(id).outputs[static_cast<std::size_t>(id.output)]; }
  const std::vector<Output>& outputs() const { return outputs_; }
  const std::vector<Assignment>& assignments() const { return assignments_; }
  Value value(ValueId id) { return {*this, id}; }

  // While it lives, new nodes are named `name`, under the scopes around it.
  class PANDO_API Scope {
   public:
    Scope(Graph& graph, const std::string& name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    std::string outer_;
  };

 private:
  friend class GraphEditor;

  std::vector<Node> nodes_;
  std::vector<Output> outputs_;
  std::vector<Assignment> assignments_;
  std::string scope_;
};

// The text form, one node a line; parse_graph (src/graph/parse.h) reads it back.
PANDO_API std::string to_string(const Graph& graph);

}  // namespace pando
