// SPDX-License-Identifier: Apache-2.0
// The table of ops: how many tensors each takes, and how its attributes are read.
#pragma once
#include <pando/model/tensor.h>
#include <pando/ops/ops.h>

#include <map>

#include "bind.h"

namespace pando::python {

using Values = std::vector<Value>;
using Build = Function<Value(const Values&)>;

// The attributes of a call; what is not read is an error.
class Reader {
 public:
  Reader(const std::string& op, const py::kwargs& given) : op_(op), given_(given) {}

  template <class T>
  T get(const char* name, T otherwise) {
    ++read_;
    names_ += std::string(names_.empty() ? "" : ", ") + name;
    if (!given_.contains(name)) {
      --read_;
      return otherwise;
    }
    return py::cast<T>(given_[name]);
  }
  void finish() const {
    if (read_ != given_.size())
      throw py::type_error(op_ + ": it has no such attribute; it takes " + (names_.empty() ? "none" : names_) +
                           " and was given " + py::str(py::object(given_.attr("keys")())).cast<std::string>());
  }

 private:
  const std::string& op_;
  const py::kwargs& given_;
  std::size_t read_ = 0;
  std::string names_ = {};
};

struct Op {
  // -1: any number.
  int inputs;
  Function<Build(Reader& reader)> make;
};
using OpTable = std::map<std::string, Op, std::less<>>;

const OpTable& op_table();

}  // namespace pando::python
