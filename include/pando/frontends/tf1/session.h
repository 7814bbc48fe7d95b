// SPDX-License-Identifier: Apache-2.0
// Sessions: run what was built, feed it, fetch its values.
#pragma once
#include <pando/data/dataset.h>
#include <pando/frontends/tf1/graph.h>

namespace pando {
class Profiler;
}

namespace pando::tf1 {

namespace errors {

// A run throws this at the end of an iterator.
using OutOfRangeError = OutOfRange;

}  // namespace errors

class Computation;
class Evaluation;
struct IteratorState;

// Gives the elements of a data set, one to each run that asks, and computes them at that moment; prefetch() the data
// set to compute them ahead. Copies are the same iterator.
class PANDO_API Iterator {
 public:
  // The columns of the next element. Throws Error unless the elements have that many.
  template <std::size_t Columns>
  std::array<Tensor, Columns> get_next() const {
    const std::vector<Tensor> tensors = next_tensors(Columns);
    std::array<Tensor, Columns> result;
    for (std::size_t i = 0; i < Columns; ++i) result[i] = tensors[i];
    return result;
  }
  // The columns of the next element, as many as it has.
  std::vector<Tensor> get_next() const;
  // Starts at the first element.
  Operation initializer() const;

 private:
  friend PANDO_API Iterator make_initializable_iterator(const data::Dataset& dataset);
  friend PANDO_API Iterator make_one_shot_iterator(const data::Dataset& dataset);
  explicit Iterator(const data::Dataset& dataset);
  std::vector<Tensor> next_tensors(std::size_t columns) const;
  std::shared_ptr<IteratorState> state_;
};
// Must be initialised before use. Throws Error if the data set is empty.
PANDO_API Iterator make_initializable_iterator(const data::Dataset& dataset);
// Needs no initializer.
PANDO_API Iterator make_one_shot_iterator(const data::Dataset& dataset);

// A computation that ipu_compiler::compile made. Copies are the same computation; a default-constructed one is empty.
class PANDO_API Compiled {
 public:
  Compiled() = default;
  explicit Compiled(std::shared_ptr<Computation> computation) : computation_(std::move(computation)) {}
  const std::shared_ptr<Computation>& computation() const { return computation_; }
  // What a run does on which IPUs, one loop or pipeline after the other.
  [[nodiscard]] std::string explain() const;
  // Records all runs until the profiler is detached. The computation must live that long.
  void profile(Profiler& profiler) const;

 private:
  std::shared_ptr<Computation> computation_;
};

// What a run can be asked for.
class PANDO_API Fetch {
 public:
  using Evaluate = Function<Arrays(Evaluation& evaluation)>;
  Fetch(const Tensor& tensor);
  Fetch(const Variable& variable) : Fetch(Tensor(variable)) {}
  Fetch(const Operation& operation);
  Fetch(const Compiled& compiled);
  explicit Fetch(Evaluate function) : function_(std::move(function)) {}
  Arrays operator()(Evaluation& evaluation) const { return function_(evaluation); }

 private:
  Evaluate function_;
};

// Values for tensors, mostly placeholders.
using Feeds = std::vector<std::pair<Tensor, Array>>;

// Variables belong to the graph: all sessions share their values, but each must have initialised those that it uses.
// Any number of threads may call run() of one session or several: the runs take turns. run() throws Error inside a data
// set that a run takes elements from, because the two would wait for each other. Only one thread at a time may build
// the graph.
class PANDO_API Session {
 public:
  Session();
  ~Session();
  Session(Session&&) noexcept;

  // Returns the tensors of a computation, the value of a tensor, or nothing for an operation. Throws OutOfRange for an
  // iterator that has ended, and Error for a variable that is not initialised, a placeholder that is not fed, and a
  // tensor from within a computation.
  Arrays run(const Fetch& fetch, const Feeds& feeds = {});
  std::vector<Arrays> run(const std::vector<Fetch>& fetches, const Feeds& feeds = {});
  // A list in braces is a list, even of one fetch.
  std::vector<Arrays> run(std::initializer_list<Fetch> fetches, const Feeds& feeds = {}) {
    return run(std::vector<Fetch>(fetches), feeds);
  }

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace pando::tf1
