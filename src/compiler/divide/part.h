// GraphPart: a part of a graph as a separate graph. What crosses the border becomes a port.
//
//   %0 = input(x)                   %0 = input(x)                   %0 = input() {port = "stash", number = 0}
//   %1 = relu(%0)   cut at %1  ->   %1 = relu(%0)              and  %1 = exp(%0)
//   %2 = exp(%1)                    output stash0 = %1 stash 0      output y = %1
//   output y = %2
#pragma once
#include <pando/graph/graph.h>

#include <map>

namespace pando {

// Builds a graph from parts of another: copies each requested value with everything that it needs, up to the values
// that were cut.
class GraphPart {
 public:
  // Both graphs must live as long as the GraphPart.
  GraphPart(const Graph& from, Graph& to) : from_(from), part_(to), mapped_(from.nodes().size()) {}

  // The value comes from outside: where it is needed, the part has an input of this kind and number.
  void cut(ValueId value, PortKind kind, std::int32_t number) { cuts_[value] = {kind, number}; }
  // Uses `replacement`, a value of the part, in place of the value.
  void replace(ValueId value, Value replacement) { replaced_[value] = replacement; }
  // The value in the part.
  Value copy(ValueId id);
  // Adds the value as the output that it is in the whole graph.
  void add_output(const Output& output);
  void add_port(ValueId value, PortKind kind, std::int32_t number);
  void assign(const Assignment& assignment) { part_.assign(copy(assignment.variable), copy(assignment.value)); }

 private:
  struct Cut {
    PortKind kind;
    std::int32_t number;
  };
  const Graph& from_;
  Graph& part_;
  // The copies of the outputs of each node; empty where it was not copied.
  std::vector<std::vector<Value>> mapped_;
  std::map<ValueId, Cut> cuts_;
  std::map<ValueId, Value> replaced_;
};

// "stash0".
std::string port_name(PortKind kind, std::int32_t number);

}  // namespace pando
