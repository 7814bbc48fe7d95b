// The default graph: every variable and its first value; and what tensors outside of computations stand for.
#pragma once
#include <pando/tf1/graph.h>
#include <pando/tf1/session.h>

#include <optional>

#include "training/tensor.h"

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
  // What a session does; none: it is part of a computation.
  std::function<void(Session::State& session)> run;
};

// Variables, and states of optimizers, that must be initialised before they are used; in the order in which they came.
class DefaultGraph {
 public:
  static DefaultGraph& current();

  // Returns the number of its entry.
  std::size_t add(const Parameter& parameter);
  std::size_t add(const std::string& name, std::function<void()> reset);
  const Parameter* find(const std::string& name) const;
  std::string unique_name(const std::string& name) const;

  std::size_t size() const { return entries_.size(); }
  const std::string& name(std::size_t entry) const { return entries_[entry].name; }
  // Gives the first `count` entries their first values.
  void reset(std::size_t count) const;
  // Tells graphs apart, since entries of one mean nothing in the next.
  std::int64_t generation() const { return generation_; }
  void clear();

 private:
  struct Entry {
    std::string name;
    std::function<void()> reset;
    std::optional<Parameter> parameter = {};
  };
  std::vector<Entry> entries_;
  std::int64_t generation_ = 0;
};

}  // namespace pando::tf1
