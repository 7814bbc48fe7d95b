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

  // How often the variable was changed, to be counted up by who changes it otherwise than by set(). Lives as long as
  // the store.
  std::uint64_t& version(const std::string& name) { return find(name)->version; }
  // Copies those variables of `names` from the other store that were changed there since `versions` were noted, and
  // notes the new ones.
  void follow(const VariableStore& other, const std::vector<std::string>& names, std::vector<std::uint64_t>& versions);

 private:
  struct Entry {
    Type type;
    HostMemory memory;
    std::uint64_t version = 0;
  };
  const std::shared_ptr<Entry>& find(const std::string& name) const;

  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace pando
