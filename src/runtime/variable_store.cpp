// A program holds all variables of a step together, in the order of their addresses, so that programs that share some
// cannot wait for each other forever. Versions tell a copy whether its original was changed.
#include "runtime/variable_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace pando {

void VariableUse::add(std::shared_ptr<StoredVariable> variable, bool changes) {
  const auto place = std::lower_bound(members_.begin(), members_.end(), variable,
                                      [](const Member& member, const auto& other) { return member.variable < other; });
  if (place != members_.end() && place->variable == variable) place->changes |= changes;
  else members_.insert(place, {std::move(variable), changes});
}

void VariableUse::begin() const {
  for (const Member& member : members_) member.variable->lock.begin(member.changes);
}

void VariableUse::end() const {
  for (const Member& member : members_) {
    if (member.changes) ++member.variable->version;
    member.variable->lock.end(member.changes);
  }
}

std::shared_ptr<StoredVariable> VariableStore::bind(const std::string& name, const Type& type) {
  const std::lock_guard guard(mutex_);
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    auto memory = allocate_host_memory(type.bytes(), fmt::format("variable '{}'", name));
    std::shared_ptr<StoredVariable> made(new StoredVariable{type, std::move(memory)});
    return variables_.emplace(name, std::move(made)).first->second;
  }
  if (found->second->type != type)
    throw Error(fmt::format("variable '{}' is {} and cannot be used as {}; rename it or reshape the value", name,
                            to_string(found->second->type), to_string(type)));
  return found->second;
}

void VariableStore::set(const std::string& name, const Array& value) {
  VariableUse use;
  const std::shared_ptr<StoredVariable> variable = bind(name, {value.dtype(), value.shape()});
  use.add(variable, true);
  const HeldVariables held(use);
  std::memcpy(variable->memory.get(), value.raw(), value.bytes());
}

Array VariableStore::get(const std::string& name) const {
  VariableUse use;
  const std::shared_ptr<StoredVariable> variable = find(name);
  use.add(variable, false);
  Array copy(variable->type.dtype, variable->type.shape);
  const HeldVariables held(use);
  std::memcpy(copy.mutable_raw(), variable->memory.get(), copy.bytes());
  return copy;
}

void VariableStore::share(const std::string& name, const VariableStore& other, const std::string& other_name) {
  const std::shared_ptr<StoredVariable> variable = other.find(other_name);
  const std::lock_guard guard(mutex_);
  if (variables_.try_emplace(name, variable).first->second != variable)
    throw Error(fmt::format("variable '{}' exists and cannot become another one; rename it", name));
}

std::shared_ptr<StoredVariable> VariableStore::find(const std::string& name) const {
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = variables_.find(name); found != variables_.end()) return found->second;
  }
  throw Error(unknown_name("variable", name, names()));
}

std::vector<std::string> VariableStore::names() const {
  const std::lock_guard guard(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_) names.push_back(name);
  return names;
}

VariableCopies::VariableCopies(const VariableStore& originals, const VariableStore& copies,
                               const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    pairs_.push_back({originals.find(name), copies.find(name)});
    use_.add(pairs_.back().original, false);
    use_.add(pairs_.back().copy, true);
  }
}

void VariableCopies::follow() {
  const HeldVariables held(use_);
  for (Pair& pair : pairs_) {
    const std::uint64_t difference = pair.original->version - pair.copy->version;
    if (pair.difference != difference)
      std::memcpy(pair.copy->memory.get(), pair.original->memory.get(), pair.original->type.bytes());
    // Releasing the copies counts one change of each.
    pair.difference = difference - 1;
  }
}

void VariableCopies::distrust() {
  for (Pair& pair : pairs_) pair.difference.reset();
}

}  // namespace pando
