#include <fmt/format.h>

#include "graph/text_form.h"
#include "plan/plan.h"

namespace pando {

namespace {

std::string buffer_text(const Buffer& buffer) {
  switch (buffer.kind) {
    case Buffer::Kind::arena: return fmt::format("arena {}", buffer.offset);
    case Buffer::Kind::feed: return fmt::format("feed {}", buffer.offset);
    case Buffer::Kind::variable: return fmt::format("variable {}", buffer.index);
    case Buffer::Kind::constant: return fmt::format("constant {}", buffer.index);
  }
  return "";
}

std::string operand_text(const Operand& operand) {
  const std::string buffer = operand.buffer < 0 ? "none" : fmt::format("b{}", operand.buffer);
  return fmt::format("{} {}", buffer, to_string(operand.type));
}

std::string operands_text(const std::vector<Operand>& operands) {
  std::vector<std::string> texts;
  for (const Operand& operand : operands) texts.push_back(operand_text(operand));
  return fmt::format("({})", fmt::join(texts, ", "));
}

std::string call_text(const KernelCall& call) {
  return fmt::format("  {} = {}{}{}{}\n", operands_text(call.outputs), call.op->name, operands_text(call.inputs),
                     attributes_text(*call.op, call.attributes), call.name.empty() ? "" : "  # " + call.name);
}

std::string port_text(std::string_view kind, const Port& port) {
  return fmt::format("{} \"{}\" = b{} {}{}\n", kind, port.name, port.buffer, to_string(port.type),
                     port.every_step ? " every_step" : "");
}

}  // namespace

std::string to_string(const Plan& plan) {
  std::string text = fmt::format("plan arena {} feed {}{}\n", plan.arena_bytes, plan.feed_bytes,
                                 plan.check_numerics ? " check_numerics" : "");
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    text += fmt::format("b{} = {}, {} bytes\n", i, buffer_text(plan.buffers[i]), plan.buffers[i].bytes);
  for (const Port& port : plan.feeds) text += port_text("feed", port);
  for (const Port& port : plan.variables) text += port_text("variable", port);
  for (const Port& port : plan.outputs) text += port_text("output", port);
  for (const Array& constant : plan.constants)
    text += fmt::format("constant {} {}\n", array_text(constant), to_string(Type{constant.dtype(), constant.shape()}));
  for (const Superstep& superstep : plan.supersteps) {
    text += "superstep\n";
    for (const KernelCall& call : superstep) text += call_text(call);
  }
  return text;
}

}  // namespace pando
