// SPDX-License-Identifier: Apache-2.0
// VariableStore: the variables of a model, by name. A variable has one newest value, and mirrors of it in the memories
// of the devices that use it. Stores may share a variable. Any number of threads may use a store.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "runtime/memory.h"
#include "runtime/use_lock.h"

namespace pando {

// A copy of a variable in one memory.
class Mirror {
 public:
  explicit Mirror(Allocation allocation) : allocation_(std::move(allocation)) {}
  Place place() const { return allocation_.place(); }

 private:
  friend class StoredVariable;
  const Allocation allocation_;
  // The version of the variable that it holds.
  std::atomic<std::uint64_t> version_ = 0;
};

class StoredVariable {
 public:
  StoredVariable(const std::string& name, const Type& type) : name_(name), type_(type) {}
  // One whose value is in that memory already.
  StoredVariable(const std::string& name, const Type& type, Allocation allocation);

  const Type& type() const { return type_; }
  // The mirror in that memory, made if it is new; it stays where it is. Throws Error if there is not enough memory.
  Mirror& mirror_in(const std::shared_ptr<Memory>& memory);
  UseLock& lock() { return lock_; }

  // The rest only while the lock is held.
  // How often the variable was changed.
  std::uint64_t version() const { return version_; }
  // Brings the mirror up to date; costs a comparison if it is.
  void refresh(Mirror& mirror) {
    if (mirror.version_.load(std::memory_order_acquire) != version_) fetch(mirror);
  }
  // A mirror that is up to date, made if there is none.
  Mirror& newest();
  // Counts a change that was made in this mirror.
  void count_change(Mirror& mirror) { mirror.version_.store(++version_, std::memory_order_release); }

 private:
  void fetch(Mirror& mirror);

  const std::string name_;
  const Type type_;
  UseLock lock_;
  std::uint64_t version_ = 0;
  // For the list of mirrors, and to bring one up to date.
  std::mutex mutex_;
  std::vector<std::unique_ptr<Mirror>> mirrors_;
};

// The variables of a program or of a copy. They are held together between begin() and end(), so other users see a step
// as one action, however many variables it reads and changes.
class VariableUse {
 public:
  // Call it before the first begin(). With a mirror, begin() brings that up to date, and changes are made there;
  // otherwise they are made in the newest mirror.
  void add(std::shared_ptr<StoredVariable> variable, bool changes, Mirror* mirror = nullptr);
  void begin() const;
  // Counts a change of each variable that may have been changed.
  void end() const;

 private:
  struct Member {
    std::shared_ptr<StoredVariable> variable;
    Mirror* mirror;
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
  // The variable; if it is new it is made, zero, in that memory. Throws Error if it exists with another type or there
  // is not enough memory.
  std::shared_ptr<StoredVariable> bind(const std::string& name, const Type& type,
                                       const std::shared_ptr<Memory>& memory);
  void set(const std::string& name, const Array& value);
  // Makes `name` a variable whose value is in that memory already. Programs that have bound another one keep it.
  void adopt(const std::string& name, const Type& type, Allocation allocation);
  // The owner of adopted memory of the host has changed it: all other mirrors are older.
  void note_change(const std::string& name);
  // Brings the memory of the host up to date.
  void bring_back(const std::string& name);
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
