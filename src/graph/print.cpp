// SPDX-License-Identifier: Apache-2.0
#include "graph/text_form.h"

#include <fmt/format.h>

#include "graph/elementwise_program.h"

namespace pando {

namespace {

// Large constants are shown by their size: the text form is for reading and for tests of small graphs.
constexpr std::int64_t shown_elements = 16;

std::string attribute_text(const Attribute& attribute) {
  struct {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const {
      // A decimal point distinguishes a number from an integer when it is read back.
      std::string text = fmt::format("{:.17g}", value);
      const std::string shorter = fmt::format("{}", value);
      if (shorter.size() < text.size()) text = shorter;
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
    std::string operator()(const Integers& value) const { return fmt::format("[{}]", fmt::join(value, ", ")); }
    std::string operator()(DType value) const { return std::string(name(value)); }
    std::string operator()(const Array& value) const { return array_text(value); }
    std::string operator()(const std::shared_ptr<const ElementwiseProgram>& value) const {
      return value ? fmt::format("({})", to_string(*value)) : "()";
    }
  } const text;
  return std::visit(text, attribute);
}

std::string value_text(const Graph& graph, ValueId id) {
  return graph.node(id).outputs.size() == 1 ? fmt::format("%{}", id.node) : fmt::format("%{}#{}", id.node, id.output);
}

bool same(const Attribute& a, const Attribute& b) { return attribute_text(a) == attribute_text(b); }

std::string output_kind_text(const Output& output) {
  return output.kind == PortKind::result ? "" : fmt::format(" {} {}", name(output.kind), output.number);
}

std::string node_text(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes()[index];
  std::vector<std::string> inputs, types;
  for (ValueId input : node.inputs) inputs.push_back(value_text(graph, input));
  for (const Type& type : node.outputs) types.push_back(to_string(type));
  std::string text = fmt::format("%{} = {}({}){} : {}", index, node.op->name, fmt::join(inputs, ", "),
                                 attributes_text(*node.op, node.attributes), fmt::join(types, ", "));
  if (node.stage != any_stage) text += fmt::format(" @{}", node.stage);
  return text + origin_text(node.name, node.layer);
}

}  // namespace

std::string array_text(const Array& array) {
  if (array.elements() > shown_elements) return fmt::format("<{} elements>", array.elements());
  const Array values = array.astype(DType::float64);
  const std::span<const double> list(values.data<double>(), static_cast<std::size_t>(values.elements()));
  // As many digits as the type has.
  return array.dtype() == DType::float64 ? fmt::format("<{}>", fmt::join(list, ", "))
                                         : fmt::format("<{:.9g}>", fmt::join(list, ", "));
}

std::string origin_text(const std::string& name, const std::string& layer) {
  if (name.empty()) return "";
  const bool is_first_part = layer == name.substr(0, name.find('/'));
  return is_first_part ? "  # " + name : fmt::format("  # \"{}\"{}", layer, name.substr(layer.size()));
}

std::string attributes_text(const OpDefinition& op, const Attributes& attributes) {
  std::vector<std::string> shown;
  for (const auto& definition : op.attributes) {
    const Attribute* value = attributes.find(definition.name);
    if (value != nullptr && !same(*value, definition.default_value))
      shown.push_back(fmt::format("{} = {}", definition.name, attribute_text(*value)));
  }
  return shown.empty() ? "" : fmt::format(" {{{}}}", fmt::join(shown, ", "));
}

std::string to_string(const ElementwiseProgram& program) {
  std::vector<std::string> operands, results;
  for (DType dtype : program.operands) operands.emplace_back(name(dtype));
  std::string text = fmt::format("{}: ", fmt::join(operands, ", "));
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const auto& instruction = program.instructions[i];
    std::vector<std::string> arguments;
    for (std::int32_t argument : instruction.arguments)
      if (argument >= 0) arguments.push_back(fmt::format("t{}", argument));
    for (std::size_t p = 0; p < instruction.op->parameters.size(); ++p)
      arguments.push_back(fmt::format("{}", instruction.parameters[p]));
    text += fmt::format("t{} = {}({}) {}; ", program.operands.size() + i, instruction.op->name,
                        fmt::join(arguments, ", "), name(instruction.result));
  }
  for (std::int32_t result : program.results) results.push_back(fmt::format("t{}", result));
  return fmt::format("{}-> {}", text, fmt::join(results, ", "));
}

bool operator==(const ElementwiseProgram& a, const ElementwiseProgram& b) { return to_string(a) == to_string(b); }

std::string to_string(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) text += node_text(graph, i) + "\n";
  for (const Output& output : graph.outputs())
    text += fmt::format("output {} = {}{}{}\n", output.name, value_text(graph, output.value),
                        output.every_step ? " every_step" : "", output_kind_text(output));
  for (const Assignment& assignment : graph.assignments())
    text +=
        fmt::format("assign {} = {}\n", value_text(graph, assignment.variable), value_text(graph, assignment.value));
  return text;
}

}  // namespace pando
