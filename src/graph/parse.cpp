// SPDX-License-Identifier: Apache-2.0
#include "graph/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/elementwise_program.h"

namespace pando {

namespace {

Integers parse_integers(LineReader& line) {
  Integers values;
  line.list("[", "]", [&] { values.push_back(line.number<std::int64_t>()); });
  return values;
}

// The number of a value of an elementwise program: t0, t1, ...
std::int32_t parse_program_value(LineReader& line, std::size_t defined) {
  line.expect("t");
  const auto value = line.number<std::int32_t>();
  if (value < 0 || static_cast<std::size_t>(value) >= defined) line.fail(fmt::format("t{} is not defined yet", value));
  return value;
}

ElementwiseProgram::Instruction parse_instruction(LineReader& line, std::size_t defined, FindOp find_op) {
  ElementwiseProgram::Instruction instruction;
  line.expect("=");
  instruction.op = &find_op(line.word());
  std::size_t arguments = 0, parameters = 0;
  line.list("(", ")", [&] {
    if (line.peek('t') && arguments < instruction.arguments.size())
      instruction.arguments[arguments++] = parse_program_value(line, defined);
    else if (parameters < instruction.parameters.size()) instruction.parameters[parameters++] = line.number<double>();
    else line.fail("an instruction has too many arguments");
  });
  if (!instruction.op->elementwise || static_cast<int>(arguments) != instruction.op->min_inputs ||
      parameters != instruction.op->parameters.size())
    line.fail(fmt::format("{} does not fit into an elementwise program like this", instruction.op->name));
  instruction.result = parse_dtype(line.word());
  return instruction;
}

std::shared_ptr<const ElementwiseProgram> parse_program(LineReader& line, FindOp find_op) {
  auto program = std::make_shared<ElementwiseProgram>();
  line.expect("(");
  if (line.take(")")) return nullptr;
  do program->operands.push_back(parse_dtype(line.word()));
  while (line.take(","));
  line.expect(":");
  std::size_t defined = program->operands.size();
  while (!line.take("->")) {
    line.expect(fmt::format("t{}", defined));
    program->instructions.push_back(parse_instruction(line, defined++, find_op));
    line.expect(";");
  }
  do program->results.push_back(parse_program_value(line, defined));
  while (line.take(","));
  line.expect(")");
  return program;
}

Attribute parse_attribute(LineReader& line, const OpDefinition& op, const std::string& key, FindOp find_op) {
  const AttributeDefinition* definition = nullptr;
  for (const auto& candidate : op.attributes)
    if (candidate.name == key) definition = &candidate;
  if (definition == nullptr) line.fail(fmt::format("{} has no attribute '{}'", op.name, key));
  const Attribute& like = definition->default_value;
  if (std::holds_alternative<bool>(like)) return line.take("true") || (line.expect("false"), false);
  if (std::holds_alternative<std::int64_t>(like)) return line.number<std::int64_t>();
  if (std::holds_alternative<double>(like)) return line.number<double>();
  if (std::holds_alternative<std::string>(like)) return line.quoted();
  if (std::holds_alternative<DType>(like)) return parse_dtype(line.word());
  if (std::holds_alternative<Integers>(like)) return parse_integers(line);
  if (std::holds_alternative<Array>(like)) return parse_array(line);
  return parse_program(line, find_op);
}

class GraphParser {
 public:
  explicit GraphParser(FindOp find_op) : find_op_(find_op) {}

  Graph run(std::string_view text) {
    for_each_line(text, [this](LineReader& line) { parse_line(line); });
    return std::move(graph_);
  }

 private:
  void parse_line(LineReader& line) {
    if (line.take("output ")) {
      const std::string name = line.word();
      line.expect("=");
      const Value value = parse_value(line);
      const bool every_step = line.take("every_step");
      if (line.at_end()) graph_.add_output(name, value, every_step);
      else {
        const PortKind kind = port_kind_named(line.word());
        graph_.add_output(name, value, kind, line.number<std::int32_t>());
      }
    } else if (line.take("assign ")) {
      const Value variable = parse_value(line);
      line.expect("=");
      graph_.assign(variable, parse_value(line));
    } else {
      parse_node(line);
    }
  }

  Value parse_value(LineReader& line) {
    line.expect("%");
    const auto number = line.number<std::int64_t>();
    const auto found = values_.find(number);
    if (found == values_.end())
      line.fail(fmt::format(
          "%{} is used before it is defined: a graph has no cycles; feed a value back through a variable", number));
    const auto output = line.take("#") ? line.number<std::int64_t>() : 0;
    if (output < 0 || output >= static_cast<std::int64_t>(found->second.size()))
      line.fail(fmt::format("%{} has no output {}", number, output));
    return found->second[static_cast<std::size_t>(output)];
  }

  void parse_node(LineReader& line) {
    line.expect("%");
    const auto number = line.number<std::int64_t>();
    line.expect("=");
    const OpDefinition& op = find_op_(line.word());
    std::vector<Value> inputs;
    line.list("(", ")", [&] { inputs.push_back(parse_value(line)); });
    Attributes attributes = parse_attributes(line, op, find_op_);
    std::vector<Type> types;
    if (line.take(":")) {
      do types.push_back(parse_type(line));
      while (line.take(","));
    }
    const std::int32_t stage = line.take("@") ? line.number<std::int32_t>() : any_stage;
    const Graph::StageScope scope(graph_, stage);
    if (op.role == Role::constant) set_constant_type(line, attributes, types);
    add_node(line, number, op, inputs, std::move(attributes), types);
  }

  void add_node(LineReader& line, std::int64_t number, const OpDefinition& op, const std::vector<Value>& inputs,
                Attributes attributes, const std::vector<Type>& types) {
    Node made;
    parse_origin(line, made.name, made.layer);
    const Graph::Scope scope(graph_, made);
    const std::vector<Value> outputs = graph_.add(op, inputs, std::move(attributes));
    for (std::size_t i = 0; i < types.size(); ++i)
      if (i >= outputs.size() || outputs[i].type() != types[i])
        line.fail(fmt::format("%{} is typed {} but its inputs make it {}", number, to_string(types[i]),
                              i < outputs.size() ? to_string(outputs[i].type()) : "nothing"));
    if (!values_.emplace(number, outputs).second) line.fail(fmt::format("%{} is defined twice", number));
  }

  // A constant's text gives its values; its dtype and shape come after the colon.
  void set_constant_type(LineReader& line, Attributes& attributes, const std::vector<Type>& types) {
    if (types.size() != 1 || attributes.find("value") == nullptr) line.fail("a constant needs a value and a type");
    attributes.set("value", attributes.array("value").astype(types[0].dtype).reshape(types[0].shape));
  }

  const FindOp find_op_;
  Graph graph_;
  std::map<std::int64_t, std::vector<Value>> values_;
};

}  // namespace

void for_each_line(std::string_view text, const Function<void(LineReader&)>& parse) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    LineReader line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.at_end()) continue;
    try {
      parse(line);
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with("line ")) throw;
      line.fail(error.what());
    }
    if (!line.at_end()) line.fail("there is more text after the statement");
  }
}

Type parse_type(LineReader& line) {
  const DType dtype = parse_dtype(line.word());
  return {dtype, Shape(parse_integers(line))};
}

Attributes parse_attributes(LineReader& line, const OpDefinition& op, FindOp find_op) {
  Attributes attributes;
  if (!line.take("{")) return attributes;
  do {
    const std::string key = line.word();
    line.expect("=");
    attributes.set(key, parse_attribute(line, op, key, find_op));
  } while (line.take(","));
  line.expect("}");
  return attributes;
}

void parse_origin(LineReader& line, std::string& name, std::string& layer) {
  const std::string text = line.comment();
  const bool is_quoted = text.starts_with('"');
  const std::size_t end = is_quoted ? text.find('"', 1) : text.find('/');
  if (is_quoted && end == std::string::npos) line.fail("the name of a layer has no closing quote");
  layer = is_quoted ? text.substr(1, end - 1) : text.substr(0, end);
  name = is_quoted ? layer + text.substr(end + 1) : text;
}

Array parse_array(LineReader& line) {
  std::vector<double> values;
  line.list("<", ">", [&] { values.push_back(line.number<double>()); });
  return Array::of(values, {static_cast<std::int64_t>(values.size())});
}

Graph parse_graph(std::string_view text, FindOp find_op) { return GraphParser(find_op).run(text); }

}  // namespace pando
