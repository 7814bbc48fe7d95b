// SPDX-License-Identifier: Apache-2.0
// A program holds all variables of a step together, in the order of their addresses, so that programs that share some
// cannot wait for each other forever. Versions tell a mirror, and a copy, whether the variable was changed elsewhere.
#include "runtime/variable_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace pando {

StoredVariable::StoredVariable(const std::string& name, const Type& type, Allocation allocation)
    : StoredVariable(name, type) {
  mirrors_.push_back(std::make_unique<Mirror>(std::move(allocation)));
  // Mirrors that are made later are older.
  count_change(*mirrors_.back());
}

Mirror& StoredVariable::mirror_in(const std::shared_ptr<Memory>& memory) {
  const std::lock_guard guard(mutex_);
  for (const auto& mirror : mirrors_)
    if (mirror->place().memory == memory.get()) return *mirror;
  mirrors_.push_back(std::make_unique<Mirror>(memory->allocate(type_.bytes(), fmt::format("variable '{}'", name_))));
  // As the variable is before its first change.
  memory->set_zero(mirrors_.back()->place(), type_.bytes());
  return *mirrors_.back();
}

Mirror& StoredVariable::newest() {
  {
    const std::lock_guard guard(mutex_);
    for (const auto& mirror : mirrors_)
      if (mirror->version_.load(std::memory_order_acquire) == version_) return *mirror;
  }
  return mirror_in(host_memory());
}

// Two programs that only read the variable may want the same mirror at once.
void StoredVariable::fetch(Mirror& mirror) {
  const Place from = newest().place();
  const std::lock_guard guard(mutex_);
  if (mirror.version_.load(std::memory_order_acquire) == version_) return;
  copy_bytes(mirror.place(), from, type_.bytes());
  mirror.version_.store(version_, std::memory_order_release);
}

void VariableUse::add(std::shared_ptr<StoredVariable> variable, bool changes, Mirror* mirror) {
  const auto place = std::lower_bound(members_.begin(), members_.end(), variable,
                                      [](const Member& member, const auto& other) { return member.variable < other; });
  if (place != members_.end() && place->variable == variable) place->changes |= changes;
  else members_.insert(place, {std::move(variable), mirror, changes});
}

void VariableUse::begin() const {
  for (const Member& member : members_) member.variable->lock().begin(member.changes);
  for (const Member& member : members_)
    if (member.mirror != nullptr) member.variable->refresh(*member.mirror);
}

void VariableUse::end() const {
  for (const Member& member : members_) {
    if (member.changes) member.variable->count_change(member.mirror ? *member.mirror : member.variable->newest());
    member.variable->lock().end(member.changes);
  }
}

std::shared_ptr<StoredVariable> VariableStore::bind(const std::string& name, const Type& type,
                                                    const std::shared_ptr<Memory>& memory) {
  const std::lock_guard guard(mutex_);
  const auto found = variables_.find(name);
  if (found == variables_.end()) {
    auto made = std::make_shared<StoredVariable>(name, type);
    made->mirror_in(memory);
    return variables_.emplace(name, std::move(made)).first->second;
  }
  if (found->second->type() != type)
    throw Error(fmt::format("variable '{}' is {} and cannot be used as {}; rename it or reshape the value", name,
                            to_string(found->second->type()), to_string(type)));
  return found->second;
}

void VariableStore::set(const std::string& name, const Array& value) {
  VariableUse use;
  const std::shared_ptr<StoredVariable> variable = bind(name, type_of(value), host_memory());
  use.add(variable, true);
  const HeldVariables held(use);
  const Place to = variable->newest().place();
  to.memory->write(to, value.raw(), value.bytes());
}

void VariableStore::adopt(const std::string& name, const Type& type, Allocation allocation) {
  auto made = std::make_shared<StoredVariable>(name, type, std::move(allocation));
  const std::lock_guard guard(mutex_);
  variables_.insert_or_assign(name, std::move(made));
}

void VariableStore::note_change(const std::string& name) {
  const std::shared_ptr<StoredVariable> variable = find(name);
  VariableUse use;
  use.add(variable, true, &variable->mirror_in(host_memory()));
  const HeldVariables held(use);
}

void VariableStore::bring_back(const std::string& name) {
  const std::shared_ptr<StoredVariable> variable = find(name);
  VariableUse use;
  use.add(variable, false, &variable->mirror_in(host_memory()));
  const HeldVariables held(use);
}

Array VariableStore::get(const std::string& name) const {
  VariableUse use;
  const std::shared_ptr<StoredVariable> variable = find(name);
  use.add(variable, false);
  Array copy(variable->type().dtype, variable->type().shape);
  const HeldVariables held(use);
  const Place from = variable->newest().place();
  from.memory->read(copy.mutable_raw(), from, copy.bytes());
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
    const std::uint64_t difference = pair.original->version() - pair.copy->version();
    if (pair.difference != difference)
      copy_bytes(pair.copy->newest().place(), pair.original->newest().place(), pair.original->type().bytes());
    // Releasing the copies counts one change of each.
    pair.difference = difference - 1;
  }
}

void VariableCopies::distrust() {
  for (Pair& pair : pairs_) pair.difference.reset();
}

}  // namespace pando
