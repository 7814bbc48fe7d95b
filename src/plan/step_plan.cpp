// SPDX-License-Identifier: Apache-2.0
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
  for (const auto& [name, program] : stage_programs) list.push_back(this->*program ? &*(this->*program) : nullptr);
  return list;
}

}  // namespace pando
