// SPDX-License-Identifier: Apache-2.0
// Fields: option structs from Python's keyword arguments. Python's classes have the signatures, so a name that is not a
// field is a mistake of this module; a value of the wrong type is the user's.
#pragma once
#include <pando/frontends/keras/layers.h>
#include <pando/frontends/keras/optimizers.h>

#include "bind.h"

namespace pando::python {

// Calls a Python function of symbols while a graph is built, and returns the values of the symbols that it returns.
std::vector<Value> call_on_values(const Held& function, const std::vector<Value>& inputs);

// A size, or None for one that is known later.
Shape read_shape(py::handle value);

void read(py::handle value, keras::Pair& field);
void read(py::handle value, keras::layers::Padding2D& field);
void read(py::handle value, keras::Activation& field);
void read(py::handle value, keras::Initializer& field);
void read(py::handle value, keras::Regularizer& field);
void read(py::handle value, keras::optimizers::LearningRate& field);
void read(py::handle value, Shape& field);
void read(py::handle value, DType& field);

// Also a number such as 16.0, which is what a division gives in Python.
void read(py::handle value, std::int64_t& field);

template <class T>
void read(py::handle value, T& field) {
  field = value.cast<T>();
}
void read(py::handle value, std::optional<keras::Pair>& field);
template <class T>
void read(py::handle value, std::optional<T>& field) {
  field.reset();
  if (!value.is_none()) field = value.cast<T>();
}

class Fields {
 public:
  // The dict stays as it is: a loss or metric is made from the same one each time it is used.
  Fields(std::string who, const py::dict& values) : who_(std::move(who)), values_(values.attr("copy")()) {}

  // Keeps the default of the field if the name was not given.
  template <class T>
  Fields& operator()(const char* name, T& field) {
    if (!values_.contains(name)) return *this;
    const py::object value = values_[name];
    values_.attr("pop")(name);
    try {
      read(value, field);
    } catch (const py::cast_error&) {
      refuse(name, value);
    }
    return *this;
  }
  template <class T>
  T get(const char* name, T field) {
    (*this)(name, field);
    return field;
  }
  // Throws if a name is left over.
  void finish() const;

 private:
  [[noreturn]] void refuse(const char* name, const py::object& value) const;
  std::string who_;
  py::dict values_;
};

}  // namespace pando::python
