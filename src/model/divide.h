// Parts of a graph as graphs of their own, connected by named inputs and outputs.
#pragma once
#include <pando/graph/graph.h>

#include <functional>

namespace pando {

// Grows a graph out of parts of another: whatever is asked for is copied with all that it needs, up to the values that
// were cut, which become inputs.
class GraphPart {
 public:
  // Both live as long as it does.
  GraphPart(const Graph& from, Graph& to) : from_(from), part_(to), mapped_(from.nodes().size()) {}

  // The value comes from outside, by this name.
  void cut(Value value, const std::string& name);
  void add_output(const std::string& name, Value value);
  void assign(Value variable, Value value);
  // The value in the part.
  Value copy(Value value) { return copy(value.id()); }

 private:
  Value copy(ValueId id);

  const Graph& from_;
  Graph& part_;
  // The copies of the outputs of each node; empty where it was not copied.
  std::vector<std::vector<Value>> mapped_;
  std::vector<std::pair<ValueId, Value>> cuts_;
};

// The values that nodes before number `node` make and nodes from it on use, but for inputs, variables and constants.
std::vector<Value> values_across(Graph& graph, std::size_t node);

}  // namespace pando
