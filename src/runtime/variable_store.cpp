#include "runtime/variable_store.h"

#include <fmt/format.h>

#include <cstring>

#include "base/text.h"

namespace pando {

std::byte* VariableStore::bind(const std::string& name, const Type& type) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    const std::size_t bytes = static_cast<std::size_t>(type.shape.elements()) * size_of(type.dtype);
    HostMemory memory = allocate_host_memory(bytes, fmt::format("variable '{}'", name));
    return entries_.emplace(name, Entry{type, std::move(memory)}).first->second.memory.get();
  }
  if (found->second.type != type)
    throw Error(fmt::format("variable '{}' is {} and cannot be used as {}; rename it or reshape the value", name,
                            to_string(found->second.type), to_string(type)));
  return found->second.memory.get();
}

void VariableStore::set(const std::string& name, const Array& value) {
  std::memcpy(bind(name, {value.dtype(), value.shape()}), value.raw(), value.bytes());
}

Array VariableStore::get(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Error(unknown_name("variable", name, names()));
  Array copy(found->second.type.dtype, found->second.type.shape);
  std::memcpy(copy.mutable_raw(), found->second.memory.get(), copy.bytes());
  return copy;
}

std::vector<std::string> VariableStore::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace pando
