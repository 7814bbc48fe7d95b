// SPDX-License-Identifier: Apache-2.0
// Arrays, shapes and types between Python and C++. A NumPy array of a type that Pando has goes in and out without
// copying: the side that received it keeps the other's memory alive. Any other sequence of numbers is made an array by
// NumPy.
#pragma once
#include <pando/graph/graph.h>
#include <pybind11/pybind11.h>

#include <optional>

namespace pando::python {

namespace py = pybind11;

// The array over the memory of a NumPy array, or a copy where memory or type do not suit: not contiguous, not aligned,
// or of a type that is stored as another (float16 as float32, int8, int16 and uint16 as int32, uint32 and uint64 as
// int64). Throws TypeError for what NumPy makes no numbers of.
Array array_from(py::handle source);
// A NumPy array over the memory of the array; read-only if the array is. bfloat16, which NumPy lacks, becomes float32.
py::object array_to(const Array& array);
// The same, but a NumPy scalar for an array of no dimensions.
py::object value_to(const Array& array);
// From a type's name, a NumPy type, or an object with a name, as the types of the packages are. Throws TypeError.
DType dtype_from(py::handle source);

}  // namespace pando::python

namespace pybind11::detail {

template <>
struct type_caster<pando::Array> {
  bool load(handle source, bool convert);
  static handle cast(const pando::Array& array, return_value_policy, handle) {
    return pando::python::array_to(array).release();
  }
  PYBIND11_TYPE_CASTER(pando::Array, const_name("numpy.ndarray"));
};

// A list or tuple of arrays, or one array; a list comes out.
template <>
struct type_caster<pando::Arrays> {
  bool load(handle source, bool convert);
  static handle cast(const pando::Arrays& arrays, return_value_policy, handle);
  PYBIND11_TYPE_CASTER(pando::Arrays, const_name("list[numpy.ndarray]"));
};

// A tuple of sizes; None is a size that is not known, -1 in C++.
template <>
struct type_caster<pando::Shape> {
  bool load(handle source, bool);
  static handle cast(const pando::Shape& shape, return_value_policy, handle);
  PYBIND11_TYPE_CASTER(pando::Shape, const_name("tuple[int, ...]"));
};

// A name comes out.
template <>
struct type_caster<pando::DType> {
  bool load(handle source, bool);
  static handle cast(pando::DType dtype, return_value_policy, handle);
  PYBIND11_TYPE_CASTER(pando::DType, const_name("str"));
};

// A pair of a type's name and a shape.
template <>
struct type_caster<pando::Type> {
  bool load(handle source, bool convert);
  static handle cast(const pando::Type& type, return_value_policy, handle);
  PYBIND11_TYPE_CASTER(pando::Type, const_name("tuple[str, tuple[int, ...]]"));
};

}  // namespace pybind11::detail
