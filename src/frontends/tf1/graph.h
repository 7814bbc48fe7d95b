// SPDX-License-Identifier: Apache-2.0
// The default graph: every variable and its initial value, and what tensors outside computations stand for.
#pragma once
#include <pando/frontends/tf1/graph.h>
#include <pando/frontends/tf1/session.h>

#include <map>
#include <optional>

#include "model/call_lock.h"
#include "model/data_position.h"
#include "model/tensor.h"

namespace pando::tf1 {

// What a recorded tensor without a function stands for.
struct Source {
  enum class Kind { placeholder, constant, variable, iterator };
  Kind kind;
  Array constant = {};
  std::optional<Parameter> variable = {};
  std::shared_ptr<IteratorState> iterator = {};
};
std::vector<Tensor> make_source(const std::string& name, Source source, std::vector<Type> types);
// Null for other tensors.
const Source* source_of(const Tensor& tensor);

struct OperationState {
  // What a session does; empty if the operation is part of a computation.
  Function<void(Session::State& session)> run;
};

// The place of an iterator or an infeed queue in its data set, which a Saver stores.
class DataSource {
 public:
  explicit DataSource(const data::Dataset& dataset) : dataset(dataset) {}
  virtual ~DataSource() = default;
  // Nothing before it is initialised.
  virtual std::optional<DataPosition> position() const = 0;
  // Continues with this pass; without one it must be initialised.
  virtual void go_on_with(std::optional<DatasetPass> pass) = 0;

  const data::Dataset dataset;
};

// Variables, and states of optimizers, that must be initialised before they are used; in the order in which they came.
// Numbering continues after clear(), so that the numbers of one graph mean nothing in the next.
class DefaultGraph {
 public:
  static DefaultGraph& current();

  // Returns the number of its entry.
  std::size_t add(const Parameter& parameter);
  std::size_t add(const std::string& name, Function<void()> reset);
  const Parameter* find(const std::string& name) const;
  // By name. Throws Error if two have the same name.
  std::map<std::string, Parameter> parameters() const;
  std::string unique_name(const std::string& name) const;

  // The number of the next entry.
  std::size_t end() const { return cleared_ + entries_.size(); }
  // Whether the entry still exists.
  bool has(std::size_t entry) const { return entry >= cleared_; }
  const std::string& name(std::size_t entry) const { return entries_[entry - cleared_].name; }
  // Gives the entries before `end` their first values.
  void reset(std::size_t end) const;
  void clear();
  // Forgets the entries from this one on, and keeps their numbers: a computation that made them has failed.
  void forget_since(std::size_t entry);

  // Sources are named "KIND", "KIND_1", ... The two lists have the computations and sources that still live, in the
  // order in which they came.
  void add(const std::weak_ptr<Computation>& computation) { computations_.push_back(computation); }
  void add(const std::string& kind, const std::weak_ptr<DataSource>& source);
  std::vector<std::shared_ptr<Computation>> computations() const;
  std::vector<std::pair<std::string, std::shared_ptr<DataSource>>> sources() const;

  // Runs of all sessions take turns.
  CallLock& calls() { return calls_; }

 private:
  struct Entry {
    std::string name;
    Function<void()> reset;
    std::optional<Parameter> parameter = {};
  };
  std::vector<Entry> entries_;
  std::vector<std::weak_ptr<Computation>> computations_;
  std::vector<std::pair<std::string, std::weak_ptr<DataSource>>> sources_;
  std::size_t cleared_ = 0;
  CallLock calls_;
};

}  // namespace pando::tf1
