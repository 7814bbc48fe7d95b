// SPDX-License-Identifier: Apache-2.0
// The text form of a plan: a line for each buffer, port and kernel call. That of a step has a line for each place that
// programs share, and the plans. Plans are compared by their fields rather than by this text, so that a test notices a
// field that the text forgets.
#include <fmt/format.h>

#include <algorithm>

#include "graph/text_form.h"
#include "plan/step_plan.h"

namespace pando {

namespace {

std::string buffer_text(const Buffer& buffer) {
  switch (buffer.kind) {
    case Buffer::Kind::arena: return fmt::format("arena {}", buffer.offset);
    case Buffer::Kind::feed: return fmt::format("feed {}", buffer.offset);
    case Buffer::Kind::variable: return fmt::format("variable {}", buffer.index);
    case Buffer::Kind::constant: return fmt::format("constant {}", buffer.index);
    case Buffer::Kind::counter: return "counter";
  }
  return "";
}

std::string operand_text(std::int32_t buffer, const Type& type) {
  return fmt::format("{} {}", buffer < 0 ? "none" : fmt::format("b{}", buffer), to_string(type));
}

std::string operands_text(const std::vector<Operand>& operands) {
  std::vector<std::string> texts;
  for (const Operand& operand : operands) {
    texts.push_back(operand_text(operand.buffer, operand.type));
    if (!operand.strides.empty())
      texts.back() += fmt::format(" from {} by [{}]", operand.first, fmt::join(operand.strides, ", "));
  }
  return fmt::format("({})", fmt::join(texts, ", "));
}

std::string call_text(const KernelCall& call) {
  return fmt::format("  {} = {}{}{}{}\n", operands_text(call.outputs), call.op->name, operands_text(call.inputs),
                     attributes_text(*call.op, call.attributes), origin_text(call.name, call.layer));
}

// The host feeds inputs and receives outputs unless the text says otherwise.
std::string port_text(std::string_view what, const Port& port, PortKind usual) {
  std::string text = fmt::format("{} \"{}\" = {}", what, port.name, operand_text(port.buffer, port.type));
  if (port.kind != usual) text += fmt::format(" {} {}", name(port.kind), port.number);
  return text + (port.every_step ? " every_step\n" : "\n");
}

std::string variables_text(std::string_view what, const std::vector<VariablePort>& variables) {
  std::string text;
  for (const VariablePort& variable : variables)
    text += fmt::format("{} \"{}\" = {} {}{}\n", what, variable.name, operand_text(variable.buffer, variable.type),
                        name(variable.role), variable.assigned ? " assigned" : "");
  return text;
}

std::string fields_text(std::string_view what, const Fields& fields) {
  std::string text = fmt::format("{} {} bytes\n", what, fields.bytes);
  for (const Field& field : fields.list)
    text += fmt::format("  {} = \"{}\" {} {} {}{}\n", field.offset, field.name, to_string(field.type), name(field.kind),
                        field.number, field.every_step ? " every_step" : "");
  return text;
}

std::string schedule_text(const PipelineSchedule& schedule) {
  return fmt::format("schedule {} period {} forward [{}] backward [{}]\n", schedule.name, schedule.period,
                     fmt::join(schedule.forward, ", "), fmt::join(schedule.backward, ", "));
}

bool same_attributes(const KernelCall& a, const KernelCall& b) {
  return attributes_text(*a.op, a.attributes) == attributes_text(*b.op, b.attributes);
}

bool same_call(const KernelCall& a, const KernelCall& b) {
  return a.op == b.op && a.name == b.name && a.layer == b.layer && a.inputs == b.inputs && a.outputs == b.outputs &&
         same_attributes(a, b);
}

bool same_superstep(const Superstep& a, const Superstep& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_call);
}

bool same_constant(const Array& a, const Array& b) {
  return type_of(a) == type_of(b) && std::equal(a.raw(), a.raw() + a.bytes(), b.raw());
}

}  // namespace

bool operator==(const Plan& a, const Plan& b) {
  return a.buffers == b.buffers && a.inputs == b.inputs && a.outputs == b.outputs && a.variables == b.variables &&
         a.arena_bytes == b.arena_bytes && a.feed_bytes == b.feed_bytes && a.check_numerics == b.check_numerics &&
         a.mixed_bfloat16 == b.mixed_bfloat16 && a.tf32 == b.tf32 &&
         std::equal(a.constants.begin(), a.constants.end(), b.constants.begin(), b.constants.end(), same_constant) &&
         std::equal(a.supersteps.begin(), a.supersteps.end(), b.supersteps.begin(), b.supersteps.end(), same_superstep);
}

std::string to_string(const Plan& plan) {
  std::string text = fmt::format("plan arena {} feed {}{}{}{}\n", plan.arena_bytes, plan.feed_bytes,
                                 plan.check_numerics ? " check_numerics" : "",
                                 plan.mixed_bfloat16 ? " mixed_bfloat16" : "", plan.tf32 ? " tf32" : "");
  for (std::size_t i = 0; i < plan.buffers.size(); ++i)
    text += fmt::format("b{} = {}, {} bytes\n", i, buffer_text(plan.buffers[i]), plan.buffers[i].bytes);
  for (const Port& port : plan.inputs) text += port_text("feed", port, PortKind::host);
  text += variables_text("variable", plan.variables);
  for (const Port& port : plan.outputs) text += port_text("output", port, PortKind::result);
  for (const Array& constant : plan.constants)
    text += fmt::format("constant {} {}\n", array_text(constant), to_string(Type{constant.dtype(), constant.shape()}));
  for (const Superstep& superstep : plan.supersteps) {
    text += "superstep\n";
    for (const KernelCall& call : superstep) text += call_text(call);
  }
  return text;
}

std::string to_string(const StepPlan& plan) {
  std::string text = fmt::format("step of {} replicas, {} rows an update, {} samples a micro-batch\n", plan.replicas,
                                 plan.rows_per_update, plan.batch_size);
  text += schedule_text(plan.schedule);
  text +=
      fields_text("host", plan.host) + fields_text("results", plan.results) + fields_text("exchange", plan.exchange);
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const StagePlan& stage = plan.stages[i];
    text += fmt::format("stage {}\n{}", i, fields_text("slot", stage.slot));
    text += variables_text("sum", stage.sums) + variables_text("statistic", stage.statistics);
    for (const auto& [name, program] : stage_programs)
      if (stage.*program) text += fmt::format("program {}\n{}", name, to_string(*(stage.*program)));
  }
  return text;
}

}  // namespace pando
