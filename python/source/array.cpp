// SPDX-License-Identifier: Apache-2.0
#include "array.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <bit>

#include "bind.h"

namespace pando::python {

namespace {

std::optional<DType> dtype_of_numpy(char kind, py::ssize_t size) {
  if (kind == 'f' && size == 4) return DType::float32;
  if (kind == 'f' && size == 8) return DType::float64;
  if (kind == 'i' && size == 4) return DType::int32;
  if (kind == 'i' && size == 8) return DType::int64;
  if (kind == 'u' && size == 1) return DType::uint8;
  if (kind == 'b') return DType::boolean;
  return std::nullopt;
}

// The NumPy type that stores all values of a type that Pando lacks; nothing if there is none.
const char* stored_as(char kind, py::ssize_t size) {
  if (kind == 'f' && size == 2) return "float32";
  if (kind == 'i' && size < 4) return "int32";
  if (kind == 'u' && size == 2) return "int32";
  if (kind == 'u') return "int64";
  return nullptr;
}

// bfloat16, which NumPy lacks, is cast before.
py::dtype numpy_dtype(DType dtype) {
  switch (dtype) {
    case DType::float64: return py::dtype::of<double>();
    case DType::int32: return py::dtype::of<std::int32_t>();
    case DType::int64: return py::dtype::of<std::int64_t>();
    case DType::uint8: return py::dtype::of<std::uint8_t>();
    case DType::boolean: return py::dtype::of<bool>();
    case DType::float32:
    case DType::bfloat16: break;
  }
  return py::dtype::of<float>();
}

// NumPy's C function that makes a scalar of a value in memory, which pybind11 lacks. As there, a function is known by
// its number in NumPy's table, which stays the same.
py::object numpy_scalar(const void* value, const py::dtype& dtype) {
  using MakeScalar = PyObject* (*)(const void* value, PyObject* dtype, PyObject* base);
  static const auto make = [] {
    const py::module_ numpy = py::module_::import("numpy");
    const char* name = py::hasattr(numpy, "_core") ? "numpy._core.multiarray" : "numpy.core.multiarray";
    const py::object table = py::module_::import(name).attr("_ARRAY_API");
    return reinterpret_cast<MakeScalar>(static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr))[60]);
  }();
  PyObject* made = make(value, dtype.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

Shape shape_of(const py::array& array) {
  Shape shape;
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) shape.append(array.shape(axis));
  return shape;
}

bool is_bfloat16(const py::dtype& dtype) {
  return dtype.kind() == 'V' && dtype.itemsize() == 2 && py::str(dtype.attr("name")).cast<std::string>() == "bfloat16";
}

py::array numpy_array(py::handle source) {
  if (py::isinstance<py::array>(source)) return py::reinterpret_borrow<py::array>(source);
  py::object made = py::module_::import("numpy").attr("asarray")(source);
  return made;
}

}  // namespace

Array array_from(py::handle source) {
  py::array array = numpy_array(source);
  py::dtype dtype = array.dtype();
  if (is_bfloat16(dtype)) {
    array = array.attr("astype")("float32");
    dtype = array.dtype();
  }
  std::optional<DType> known = dtype_of_numpy(dtype.kind(), dtype.itemsize());
  const bool native = dtype.byteorder() == '=' || dtype.byteorder() == '|';
  if (!known || !native) {
    const char* stored = known ? nullptr : stored_as(dtype.kind(), dtype.itemsize());
    if (!known && stored == nullptr)
      throw py::type_error("an array of " + py::str(dtype).cast<std::string>() +
                           " cannot be used; make it an array of numbers, with astype(\"float32\") for instance");
    array = array.attr("astype")(known ? dtype.attr("newbyteorder")("=") : py::object(py::str(stored)));
    known = dtype_of_numpy(array.dtype().kind(), array.dtype().itemsize());
  }
  constexpr int wanted = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
  if ((array.flags() & wanted) != wanted) array = array.attr("copy")("C");
  const Held held(array);
  return Array::over(const_cast<void*>(array.data()), *known, shape_of(array), held.owner(), array.writeable());
}

py::object array_to(const Array& array) {
  if (array.dtype() == DType::bfloat16) return array_to(array.astype(DType::float32));
  py::capsule owner(new Array(array), [](void* kept) { delete static_cast<Array*>(kept); });
  const std::vector<py::ssize_t> sizes(array.shape().begin(), array.shape().end());
  py::array result(numpy_dtype(array.dtype()), sizes, array.raw(), owner);
  if (!array.is_writable()) py::detail::array_proxy(result.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return result;
}

py::object value_to(const Array& array) {
  if (array.shape().rank() != 0) return array_to(array);
  if (array.dtype() == DType::bfloat16) return value_to(array.astype(DType::float32));
  return numpy_scalar(array.raw(), numpy_dtype(array.dtype()));
}

DType dtype_from(py::handle source) {
  if (py::isinstance<py::str>(source)) return parse_dtype(source.cast<std::string>());
  if (py::hasattr(source, "name") && py::isinstance<py::str>(source.attr("name")))
    return parse_dtype(source.attr("name").cast<std::string>());
  return parse_dtype(py::str(py::module_::import("numpy").attr("dtype")(source).attr("name")).cast<std::string>());
}

namespace {

// Whether a cast of the array to float32 gives these values, NaN included. Compares as it reads, without a copy.
bool is_cast_of(const Array& made, const Array& array) {
  const GilRelease release;
  if (made.dtype() != DType::float32 || array.dtype() != DType::float64 || made.shape() != array.shape()) return false;
  const float* cast = made.data<float>();
  const double* source = array.data<double>();
  constexpr std::int64_t block = 4096;
  for (std::int64_t begin = 0; begin < made.elements(); begin += block) {
    const std::int64_t end = std::min(begin + block, made.elements());
    std::uint32_t difference = 0;
    for (std::int64_t i = begin; i < end; ++i)
      difference |= std::bit_cast<std::uint32_t>(cast[i]) ^ std::bit_cast<std::uint32_t>(static_cast<float>(source[i]));
    if (difference != 0) return false;
  }
  return true;
}

// The base of Python's tensors: memoryview(tensor) and whatever else asks for a buffer get the memory of the array that
// the method __array__ returns.
int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  view->obj = nullptr;
  PyObject* array = PyObject_CallMethod(object, "__array__", nullptr);
  if (array == nullptr) return -1;
  const int status = PyObject_GetBuffer(array, view, flags);
  Py_DECREF(array);
  return status;
}

py::object make_buffer_type(const py::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                                {Py_tp_doc, const_cast<char*>("Has the buffer of what its method __array__ returns.")},
                                {0, nullptr}};
  static PyType_Spec spec = {"pando._core.Buffer", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             slots};
  PyObject* type = PyType_FromModuleAndSpec(module.ptr(), &spec, nullptr);
  if (type == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(type);
}

}  // namespace

void bind_arrays(py::module_& module) {
  module.attr("Buffer") = make_buffer_type(module);
  module.def("is_cast_of", &is_cast_of, py::arg("made"), py::arg("array"),
             "Whether a float32 array is the cast of a float64 array, bit for bit.");
  module.def(
      "address_of", [](const Array& array) { return reinterpret_cast<std::uintptr_t>(array.raw()); },
      "The address of the memory in which Pando sees the array; tests compare it with NumPy's.");
  module.def(
      "round_trip", [](const Array& array) { return array; }, "The array as it comes back from C++.");
}

}  // namespace pando::python

namespace pybind11::detail {

using namespace pando::python;

bool type_caster<pando::Array>::load(handle source, bool convert) {
  if (!source || source.is_none()) return false;
  if (!convert && !isinstance<array>(source)) return false;
  value = array_from(source);
  return true;
}

bool type_caster<pando::Arrays>::load(handle source, bool convert) {
  if (!source || source.is_none()) return false;
  value.clear();
  if (PyList_Check(source.ptr()) || PyTuple_Check(source.ptr())) {
    for (handle item : source) value.push_back(array_from(item));
    return true;
  }
  if (!convert && !isinstance<array>(source)) return false;
  value.push_back(array_from(source));
  return true;
}

handle type_caster<pando::Arrays>::cast(const pando::Arrays& arrays, return_value_policy, handle) {
  list result(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i) result[i] = array_to(arrays[i]);
  return result.release();
}

bool type_caster<pando::Shape>::load(handle source, bool) {
  if (!source || isinstance<str>(source)) return false;
  value = {};
  if (PyIndex_Check(source.ptr())) {
    value.append(int_(reinterpret_borrow<object>(source)).cast<std::int64_t>());
    return true;
  }
  if (!isinstance<sequence>(source)) return false;
  for (handle size : source) {
    if (!size.is_none() && !PyIndex_Check(size.ptr())) return false;
    value.append(size.is_none() ? -1 : int_(reinterpret_borrow<object>(size)).cast<std::int64_t>());
  }
  return true;
}

handle type_caster<pando::Shape>::cast(const pando::Shape& shape, return_value_policy, handle) {
  tuple result(static_cast<std::size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis)
    result[static_cast<std::size_t>(axis)] = shape[axis] == -1 ? object(none()) : object(int_(shape[axis]));
  return result.release();
}

bool type_caster<pando::DType>::load(handle source, bool) {
  if (!source || source.is_none()) return false;
  value = dtype_from(source);
  return true;
}

handle type_caster<pando::DType>::cast(pando::DType dtype, return_value_policy, handle) {
  return str(std::string(pando::name(dtype))).release();
}

bool type_caster<pando::Type>::load(handle source, bool convert) {
  if (!isinstance<sequence>(source) || len(source) != 2) return false;
  const sequence pair = reinterpret_borrow<sequence>(source);
  make_caster<pando::DType> dtype;
  make_caster<pando::Shape> shape;
  const object first = pair[0], second = pair[1];
  if (!dtype.load(first, convert) || !shape.load(second, convert)) return false;
  value = {cast_op<pando::DType&>(dtype), cast_op<pando::Shape&>(shape)};
  return true;
}

handle type_caster<pando::Type>::cast(const pando::Type& type, return_value_policy policy, handle parent) {
  return make_tuple(reinterpret_steal<object>(type_caster<pando::DType>::cast(type.dtype, policy, parent)),
                    reinterpret_steal<object>(type_caster<pando::Shape>::cast(type.shape, policy, parent)))
      .release();
}

}  // namespace pybind11::detail
