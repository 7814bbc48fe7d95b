// SPDX-License-Identifier: Apache-2.0
// GraphPart: a part of a graph as a graph of its own. What crosses the border becomes a port.
//
//   y = exp(relu(x)), cut at relu(x), gives two parts:
//
//   %0 = input(x)                        %0 = input() {port = "stash", number = 0}
//   %1 = relu(%0)                        %1 = exp(%0)
//   output stash0 = %1 stash 0           output y = %1
#pragma once
#include <pando/graph/graph.h>

#include <map>

namespace pando {

// Grows a graph out of parts of another: copying a value also copies everything that it needs, up to the values that
// were cut.
class GraphPart {
 public:
  // Both live as long as it does.
  GraphPart(const Graph& from, Graph& to) : from_(from), part_(to), mapped_(from.nodes().size()) {}

  // The value comes from outside: where it is needed, there is an input of this kind and number.
  void cut(ValueId value, PortKind kind, std::int32_t number) { cuts_[value] = {kind, number}; }
  // `replacement`, a value of the part, stands for the value.
  void replace(ValueId value, Value replacement) { replaced_[value] = replacement; }
  // The value in the part.
  Value copy(ValueId id);
  // As the output that it is in the whole.
  void add_output(const Output& output);
  void add_port(ValueId value, PortKind kind, std::int32_t number);
  void assign(const Assignment& assignment) {
    // One after the other, so that every compiler makes the same nodes in the same order.
    const Value value = copy(assignment.value);
    part_.assign(copy(assignment.variable), value);
  }

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

// Marks the nodes that `is_one` accepts, and all that depend on one.
std::vector<bool> nodes_depending_on(const Graph& graph, bool (*is_one)(const Node& node));

// "stash0".
std::string port_name(PortKind kind, std::int32_t number);

}  // namespace pando
