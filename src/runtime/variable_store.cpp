#include "runtime/variable_store.h"

#include <fmt/format.h>

#include <cstring>

#include "base/text.h"

namespace pando {

std::byte* VariableStore::bind(const std::string& name, const Type& type) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    const std::size_t bytes = static_cast<std::size_t>(type.shape.elements()) * size_of(type.dtype);
    auto entry =
        std::make_shared<Entry>(Entry{type, allocate_host_memory(bytes, fmt::format("variable '{}'", name)), 0});
    return entries_.emplace(name, std::move(entry)).first->second->memory.get();
  }
  const Entry& entry = *found->second;
  if (entry.type != type)
    throw Error(fmt::format("variable '{}' is {} and cannot be used as {}; rename it or reshape the value", name,
                            to_string(entry.type), to_string(type)));
  return entry.memory.get();
}

void VariableStore::set(const std::string& name, const Array& value) {
  std::memcpy(bind(name, {value.dtype(), value.shape()}), value.raw(), value.bytes());
  ++entries_.at(name)->version;
}

void VariableStore::follow(const VariableStore& other, const std::vector<std::string>& names,
                           std::vector<std::uint64_t>& versions) {
  // A version that nothing has: the first time everything is copied.
  versions.resize(names.size(), ~std::uint64_t{0});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Entry& entry = *other.find(names[i]);
    if (entry.version == versions[i]) continue;
    std::memcpy(bind(names[i], entry.type), entry.memory.get(),
                static_cast<std::size_t>(entry.type.shape.elements()) * size_of(entry.type.dtype));
    versions[i] = entry.version;
  }
}

Array VariableStore::get(const std::string& name) const {
  const Entry& entry = *find(name);
  Array copy(entry.type.dtype, entry.type.shape);
  std::memcpy(copy.mutable_raw(), entry.memory.get(), copy.bytes());
  return copy;
}

void VariableStore::share(const std::string& name, const VariableStore& other, const std::string& other_name) {
  const std::shared_ptr<Entry>& entry = other.find(other_name);
  if (entries_.try_emplace(name, entry).first->second != entry)
    throw Error(fmt::format("variable '{}' exists and cannot become another one; rename it", name));
}

const std::shared_ptr<VariableStore::Entry>& VariableStore::find(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error(unknown_name("variable", name, names()));
  return found->second;
}

std::vector<std::string> VariableStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace pando
