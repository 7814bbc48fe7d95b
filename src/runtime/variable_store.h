// VariableStore: the variables of a model, by name, in memory that programs on the CPU use directly.
#pragma once
#include <map>
#include <string>

#include "plan/plan.h"
#include "runtime/memory.h"

namespace pando {

class VariableStore {
 public:
  // The memory of a variable, made (zero) if it is new. Throws Error if it exists with another type.
  std::byte* bind(const std::string& name, const Type& type);
  void set(const std::string& name, const Array& value);
  Array get(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  struct Entry {
    Type type;
    HostMemory memory;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace pando
