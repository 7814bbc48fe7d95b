// SPDX-License-Identifier: Apache-2.0
// Array: n-dimensional data on the host.
#pragma once
#include <pando/base/dtype.h>
#include <pando/base/error.h>
#include <pando/base/shape.h>

#include <memory>
#include <vector>

namespace pando {

// Contiguous, row-major, cheap to copy: copies share their elements, clone() does not. Memory that Pando allocates is
// aligned to 64 bytes.
class PANDO_API Array {
 public:
  // A float32 array of shape [0].
  Array() : Array(DType::float32, {0}) {}
  // Zeros. Throws Error if the shape is not valid or there is not enough memory.
  Array(DType dtype, Shape shape);
  // For a caller that writes every element: the elements are uninitialised until then. Throws as the constructor does.
  static Array uninitialised(DType dtype, const Shape& shape);
  // A copy of `values`; their number must match the shape.
  template <class T>
  static Array of(const std::vector<T>& values, const Shape& shape);
  template <class T>
  static Array scalar(T value);
  // An array over memory of someone else, which is not copied. All copies of the array share `owner`, and the thread
  // that drops the last copy releases it. Elements that are not writable are only read. Throws Error if `data` is not
  // aligned to the size of an element.
  static Array over(void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                    bool writable = true);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return elements_; }
  std::size_t bytes() const { return static_cast<std::size_t>(elements_) * size_of(dtype_); }

  // The elements; T must be the array's type (uint8_t also reads booleans). Throws Error otherwise.
  template <class T>
  const T* data() const;
  template <class T>
  T* mutable_data();
  const std::byte* raw() const { return data_.get(); }
  // This and mutable_data() throw Error if the array is over memory that is not writable.
  std::byte* mutable_raw() {
    check_writable();
    return data_.get();
  }
  bool is_writable() const { return writable_; }

  // The value of an array of one element, cast to T.
  template <class T>
  T item() const;

  Array clone() const;
  // The same elements cast to another type; not copied if the array has that type already.
  Array astype(DType dtype) const;
  // The same elements in another shape with the same number of elements; one size may be -1.
  Array reshape(Shape shape) const;
  // A view of rows [first, last) of the outermost axis.
  Array slice(std::int64_t first, std::int64_t last) const;

 private:
  struct Uninitialised {};
  Array(DType dtype, const Shape& shape, Uninitialised);
  Array(DType dtype, const Shape& shape, std::shared_ptr<std::byte[]> data);
  void check_type(DType wanted) const;
  void check_writable() const {
    if (!writable_) refuse_writing();
  }
  [[noreturn]] void refuse_writing() const;
  double item_as_double() const;

  std::shared_ptr<std::byte[]> data_;
  Shape shape_;
  std::int64_t elements_ = 0;
  DType dtype_ = DType::float32;
  bool writable_ = true;
};

// A few arrays in order: the columns of a data set, the inputs of a model.
class Arrays : public std::vector<Array> {
 public:
  using std::vector<Array>::vector;
  Arrays(const Array& only) : std::vector<Array>{only} {}
};

template <class T>
const T* Array::data() const {
  check_type(dtype_of<T>);
  return reinterpret_cast<const T*>(data_.get());
}

template <class T>
T* Array::mutable_data() {
  check_type(dtype_of<T>);
  check_writable();
  return reinterpret_cast<T*>(data_.get());
}

template <class T>
Array Array::of(const std::vector<T>& values, const Shape& shape) {
  Array array(dtype_of<T>, shape);
  if (array.elements() != static_cast<std::int64_t>(values.size()))
    throw Error("Array::of: " + std::to_string(values.size()) + " values do not fill the shape " + to_string(shape));
  T* out = array.mutable_data<T>();
  for (const T& value : values) *out++ = value;
  return array;
}

template <class T>
Array Array::scalar(T value) {
  Array array(dtype_of<T>, {});
  *array.mutable_data<T>() = value;
  return array;
}

template <class T>
T Array::item() const {
  return static_cast<T>(item_as_double());
}

}  // namespace pando
