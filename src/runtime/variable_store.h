// VariableStore: the variables of a model, by name, in memory that programs on the CPU use directly. Stores may share a
// variable. Any number of threads may use a store.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "runtime/memory.h"
#include "runtime/use_lock.h"

namespace pando {

// A variable in memory.
struct StoredVariable {
  Type type;
  HostMemory memory;
  UseLock lock = UseLock();
  // How often the variable was changed, so that copies can be kept up to date. Written only while the lock is held.
  std::uint64_t version = 0;
};

// The variables of a program or of a copy. Between begin() and end() they are held together, so that other users see a
// step as one action, however many variables it reads and changes.
class VariableUse {
 public:
  // Call it before the first begin().
  void add(std::shared_ptr<StoredVariable> variable, bool changes);
  void begin() const;
  // Counts a change of each variable that may have been changed.
  void end() const;

 private:
  struct Member {
    std::shared_ptr<StoredVariable> variable;
    bool changes;
  };
  // Each once, in the order of their addresses: two uses that meet wait for each other in the same order.
  std::vector<Member> members_;
};

// Holds variables while it lives.
class HeldVariables {
 public:
  explicit HeldVariables(const VariableUse& use) : use_(use) { use_.begin(); }
  ~HeldVariables() { use_.end(); }
  HeldVariables(const HeldVariables&) = delete;
  HeldVariables& operator=(const HeldVariables&) = delete;

 private:
  const VariableUse& use_;
};

class VariableStore {
 public:
  // The variable, made (zero) if it is new. Throws Error if it exists with another type.
  std::shared_ptr<StoredVariable> bind(const std::string& name, const Type& type);
  void set(const std::string& name, const Array& value);
  Array get(const std::string& name) const;
  std::vector<std::string> names() const;
  // Makes `name` the same variable as `other_name` of the other store. Throws Error if `name` exists and is another
  // variable.
  void share(const std::string& name, const VariableStore& other, const std::string& other_name);
  // Throws Error with the nearest name if there is no such variable.
  std::shared_ptr<StoredVariable> find(const std::string& name) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StoredVariable>> variables_;
};

// Copies of variables of one store in another, which follow the originals.
class VariableCopies {
 public:
  // Both stores have variables of these names and types.
  VariableCopies(const VariableStore& originals, const VariableStore& copies, const std::vector<std::string>& names);
  // Copies what was changed since the last call, except where a copy was changed as often as its original: the replicas
  // of a model make the same changes themselves.
  void follow();
  // Call it after a run failed, because the replicas may have made different changes: the next follow() copies
  // everything.
  void distrust();

 private:
  struct Pair {
    std::shared_ptr<StoredVariable> original, copy;
    // The versions at which both were equal; empty before the first call.
    std::optional<std::uint64_t> difference = {};
  };
  std::vector<Pair> pairs_;
  VariableUse use_;
};

}  // namespace pando
