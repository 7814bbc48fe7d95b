// VariableStore: the variables of a model, by name, in memory that programs on the CPU use directly.
#pragma once
#include <map>
#include <memory>
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
  // From here on `name` is the same variable as `other_name` of the other store. Throws Error if `name` exists and is
  // another one.
  void share(const std::string& name, const VariableStore& other, const std::string& other_name);

 private:
  struct Entry {
    Type type;
    HostMemory memory;
  };
  const std::shared_ptr<Entry>& find(const std::string& name) const;

  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace pando
