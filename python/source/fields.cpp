// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

namespace pando::python {

std::vector<Value> call_on_values(const Held& function, const std::vector<Value>& inputs) {
  const WithGil gil;
  Trace trace(inputs.at(0).graph(), false);
  py::list symbols;
  for (const Value& value : inputs) symbols.append(py::cast(Tensor(trace, value)));
  const py::object result = function.get()(*symbols);
  std::vector<Value> values;
  for (py::handle symbol : result) values.push_back(symbol.cast<Tensor>().value());
  return values;
}

namespace {

std::string name_of(py::handle callable) {
  return py::str(py::getattr(callable, "__name__", py::str("function"))).cast<std::string>();
}

}  // namespace

Shape read_shape(py::handle value) {
  Shape shape;
  if (py::isinstance<py::int_>(value)) {
    shape.append(value.cast<std::int64_t>());
    return shape;
  }
  for (py::handle size : value.cast<py::iterable>()) shape.append(size.is_none() ? -1 : size.cast<std::int64_t>());
  return shape;
}

void read(py::handle value, std::int64_t& field) {
  const bool is_real = PyFloat_Check(value.ptr()) || PyObject_HasAttrString(value.ptr(), "is_integer") != 0;
  if (is_real && value.attr("is_integer")().cast<bool>()) field = value.attr("__int__")().cast<std::int64_t>();
  else field = value.cast<std::int64_t>();
}

void read(py::handle value, Shape& field) { field = read_shape(value); }

void read(py::handle value, DType& field) { field = parse_dtype(py::str(value).cast<std::string>()); }

void read(py::handle value, keras::Pair& field) {
  if (py::isinstance<py::sequence>(value)) {
    std::vector<std::int64_t> sizes;
    for (py::handle size : value) read(size, sizes.emplace_back());
    if (sizes.size() == 1) field = {sizes[0], sizes[0]};
    else if (sizes.size() == 2) field = {sizes[0], sizes[1]};
    else throw py::cast_error();
    return;
  }
  std::int64_t size = 0;
  read(value, size);
  field = size;
}

void read(py::handle value, std::optional<keras::Pair>& field) {
  field.reset();
  if (value.is_none()) return;
  field = keras::Pair(1);
  read(value, *field);
}

void read(py::handle value, keras::layers::Padding2D& field) {
  if (!py::isinstance<py::sequence>(value)) {
    field = value.cast<std::int64_t>();
    return;
  }
  const auto sides = value.cast<std::vector<py::object>>();
  if (sides.size() != 2) throw py::cast_error();
  keras::Pair rows = 0, columns = 0;
  read(sides[0], rows);
  read(sides[1], columns);
  field = {rows, columns};
}

void read(py::handle value, keras::Activation& field) {
  if (value.is_none()) {
    field = {};
  } else if (py::isinstance<py::str>(value)) {
    field = value.cast<std::string>();
  } else if (PyCallable_Check(value.ptr()) != 0) {
    const Held held(py::reinterpret_borrow<py::object>(value));
    field = keras::Activation(name_of(value), [held](Value x) { return call_on_values(held, {x}).at(0); });
  } else {
    throw py::cast_error();
  }
}

void read(py::handle value, keras::Initializer& field) {
  if (py::isinstance<py::str>(value)) {
    field = value.cast<std::string>();
  } else if (py::isinstance<keras::Initializer>(value)) {
    field = value.cast<keras::Initializer>();
  } else if (PyCallable_Check(value.ptr()) != 0) {
    const Held held(py::reinterpret_borrow<py::object>(value));
    field = keras::Initializer(name_of(value), [held](const Shape& shape, std::uint64_t) {
      const WithGil gil;
      return held.get()(py::tuple(py::cast(std::vector<std::int64_t>(shape.begin(), shape.end())))).cast<Array>();
    });
  } else {
    throw py::cast_error();
  }
}

void read(py::handle value, keras::Regularizer& field) {
  if (value.is_none()) field = {};
  else if (py::isinstance<py::str>(value)) field = value.cast<std::string>();
  else field = value.cast<keras::Regularizer>();
}

void read(py::handle value, keras::optimizers::LearningRate& field) {
  if (py::isinstance<keras::optimizers::LearningRate>(value)) {
    field = value.cast<keras::optimizers::LearningRate>();
  } else if (PyCallable_Check(value.ptr()) != 0) {
    const Held held(py::reinterpret_borrow<py::object>(value));
    field = keras::optimizers::LearningRate(
        Function<Value(Value)>([held](Value step) { return call_on_values(held, {step}).at(0); }));
  } else {
    field = value.cast<double>();
  }
}

void Fields::finish() const {
  if (values_.size() == 0) return;
  const std::string name = py::str((*values_.begin()).first).cast<std::string>();
  throw py::type_error(who_ + " has no argument '" + name + "'");
}

void Fields::refuse(const char* name, const py::object& value) const {
  throw py::type_error(who_ + ": " + name + " cannot be " + py::repr(value).cast<std::string>());
}

}  // namespace pando::python
