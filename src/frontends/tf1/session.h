// SPDX-License-Identifier: Apache-2.0
// What a session knows, and one run of it.
#pragma once
#include <pando/program/program.h>
#include <pando/frontends/tf1/session.h>

#include <map>
#include <optional>
#include <set>

#include "frontends/tf1/graph.h"

namespace pando::tf1 {

struct IteratorState final : DataSource {
  explicit IteratorState(const data::Dataset& dataset);
  std::optional<DataPosition> position() const override;
  void go_on_with(std::optional<DatasetPass> next) override { pass = std::move(next); }

  const std::vector<Type> types;
  // Empty until it is initialised.
  std::optional<DatasetPass> pass = {};
};

// The types of the columns of the first element. Throws Error, beginning with `who`, if there is none.
std::vector<Type> element_types(const std::string& who, const data::Dataset& dataset);

struct Session::State {
  // Entries of the default graph before this number are initialised.
  void set_initialised(std::size_t end);
  // Throws Error naming the variable if it is not initialised, and if the graph was reset since.
  void check_initialised(std::size_t entry) const;
  void check_all_initialised() const;

  // Programs on the host for tensors that are fetched, or are inputs of computations.
  struct HostProgram {
    Tensor tensor;
    // The inputs and their types, because batch sizes differ.
    std::vector<Tensor> inputs;
    std::vector<Type> types;
    Program program;
    std::vector<std::size_t> entries;
  };
  std::vector<HostProgram> host_programs = {};

 private:
  std::size_t initialised_ = 0;
};

// One run: each iterator gives the same element to all uses of one get_next().
class Evaluation {
 public:
  Evaluation(Session::State& session, const Feeds& feeds) : session_(session), feeds_(feeds) {}
  Session::State& session() const { return session_; }
  // Throws Error as Session::run does.
  Array value_of(const Tensor& tensor);

 private:
  const Array* fed_value(const Tensor& tensor) const;
  // The inputs of the tensor that need a value, each once; calls that were `seen` are left out.
  void collect_inputs(const Tensor& tensor, std::set<const Recording*>& seen, std::vector<Tensor>& inputs) const;
  Array next_of(const Tensor& tensor, IteratorState& iterator);
  Array computed(const Tensor& tensor);

  Session::State& session_;
  const Feeds& feeds_;
  std::map<const Recording*, data::Element> elements_;
};

}  // namespace pando::tf1
