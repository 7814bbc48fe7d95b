#include "model/divide.h"

#include <pando/ops/ops.h>

#include <algorithm>
#include <set>

#include "graph/op_definition.h"
#include "graph/rewrite.h"

namespace pando {

void GraphPart::cut(Value value, const std::string& name) {
  cuts_.emplace_back(value.id(), ops::input(part_, name, value.dtype(), value.shape()));
}

void GraphPart::add_output(const std::string& name, Value value) { part_.add_output(name, copy(value.id())); }
void GraphPart::assign(Value variable, Value value) { part_.assign(copy(variable.id()), copy(value.id())); }

Value GraphPart::copy(ValueId id) {
  for (const auto& [cut, input] : cuts_)
    if (cut == id) return input;
  std::vector<Value>& outputs = mapped_[static_cast<std::size_t>(id.node)];
  if (outputs.empty()) {
    Node node = from_.nodes()[static_cast<std::size_t>(id.node)];
    for (ValueId& input : node.inputs) input = copy(input).id();
    const auto count = static_cast<std::int32_t>(node.outputs.size());
    const std::int32_t number = GraphEditor::append(part_, std::move(node));
    for (std::int32_t i = 0; i < count; ++i) outputs.emplace_back(part_, ValueId{number, i});
  }
  return outputs[static_cast<std::size_t>(id.output)];
}

std::vector<Value> values_across(Graph& graph, std::size_t node) {
  std::set<ValueId> across;
  for (std::size_t i = node; i < graph.nodes().size(); ++i)
    for (ValueId input : graph.nodes()[i].inputs)
      if (static_cast<std::size_t>(input.node) < node && is_role(graph.node(input), Role::compute))
        across.insert(input);
  std::vector<Value> values;
  for (ValueId id : across) values.push_back(graph.value(id));
  return values;
}

}  // namespace pando
