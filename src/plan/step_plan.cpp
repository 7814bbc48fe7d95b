// A place that several programs share is laid out like a struct: each port is a field, found by its kind and number, or
// by its name if the host uses it. A port of two programs is one field, and that is how one hands a value to the other.
#include "plan/step_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace pando {

namespace {

bool is_named(PortKind kind) { return kind == PortKind::host || kind == PortKind::result; }

auto find_field(auto& list, const Port& port) {
  return std::find_if(list.begin(), list.end(), [&](const Field& field) {
    return field.kind == port.kind && (is_named(port.kind) ? field.name == port.name : field.number == port.number);
  });
}

std::string fields_text(const std::string& what, const Fields& fields) {
  std::string text = fmt::format("{} {} bytes\n", what, fields.bytes);
  for (const Field& field : fields.list)
    text += fmt::format("  {} = {} {}{}\n", field.offset, field.name, to_string(field.type),
                        field.every_step ? " every_step" : "");
  return text;
}

std::string names_text(const char* what, const std::vector<VariablePort>& variables) {
  std::string text;
  for (const VariablePort& variable : variables)
    text += fmt::format("{} \"{}\" {}\n", what, variable.name, to_string(variable.type));
  return text;
}

}  // namespace

void Fields::add(const Port& port) {
  if (find_field(list, port) != list.end()) return;
  list.push_back({port.kind, port.number, port.name, port.type, bytes, port.every_step});
  bytes += align(port.type.bytes());
}

const Field& Fields::of(const Port& port) const {
  const auto found = find_field(list, port);
  if (found == list.end()) throw InternalError(fmt::format("nothing makes or takes '{}'", port.name));
  return *found;
}

std::vector<const Plan*> StagePlan::all() const {
  std::vector<const Plan*> list;
  for (const auto* plan : {&forward, &backward_first, &backward_next, &update_values, &update})
    list.push_back(*plan ? &**plan : nullptr);
  return list;
}

std::string to_string(const StepPlan& plan) {
  if (plan.is_whole()) return to_string(*plan.stages.front().forward);
  std::string text = fmt::format("step of {} replicas, {} rows an update, {} samples a micro-batch, {}\n",
                                 plan.replicas, plan.rows_per_update, plan.batch_size, plan.schedule.name);
  text += fields_text("host", plan.host) + fields_text("results", plan.results);
  if (!plan.exchange.list.empty()) text += fields_text("exchange", plan.exchange);
  static constexpr const char* names[] = {"forward", "backward_first", "backward_next", "update_values", "update"};
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const StagePlan& own = plan.stages[stage];
    text += fields_text(fmt::format("stage {} slot", stage), own.slot);
    text += names_text("sum", own.sums) + names_text("statistic", own.statistics);
    const std::vector<const Plan*> plans = own.all();
    for (std::size_t i = 0; i < plans.size(); ++i)
      if (plans[i] != nullptr) text += fmt::format("stage {} {}\n{}", stage, names[i], to_string(*plans[i]));
  }
  return text;
}

}  // namespace pando
