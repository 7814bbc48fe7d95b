// SPDX-License-Identifier: Apache-2.0
#include <pando/base/array.h>

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "base/element_types.h"
#include "base/machine/large_pages.h"
#include "base/text.h"

namespace pando {

namespace {

constexpr std::align_val_t alignment{64};

std::shared_ptr<std::byte[]> allocate(std::size_t bytes, const Shape& shape, DType dtype) {
  void* memory = ::operator new(bytes == 0 ? 1 : bytes, alignment, std::nothrow);
  if (memory == nullptr)
    throw Error(fmt::format("cannot allocate {} for an array {}{}; free memory or use smaller arrays",
                            bytes_text(bytes), name(dtype), to_string(shape)));
  use_large_pages(memory, bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* data) { ::operator delete(data, alignment); }};
}

}  // namespace

Array::Array(DType dtype, Shape shape) : Array(dtype, shape, Uninitialised()) { std::memset(data_.get(), 0, bytes()); }

Array Array::uninitialised(DType dtype, const Shape& shape) { return Array(dtype, shape, Uninitialised()); }

Array::Array(DType dtype, const Shape& shape, Uninitialised)
    : shape_(shape), elements_(shape.elements()), dtype_(dtype) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(elements_, static_cast<std::int64_t>(size_of(dtype)), &bytes))
    throw Error(fmt::format("the shape {} of {} has more bytes than fit in 64 bits", to_string(shape), name(dtype)));
  data_ = allocate(static_cast<std::size_t>(bytes), shape, dtype);
}

Array Array::over(void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> owner, bool writable) {
  const std::size_t size = size_of(dtype);
  if (reinterpret_cast<std::uintptr_t>(data) % size != 0)
    throw Error(fmt::format("Array::over: memory for {} must be aligned to {} bytes; copy it", name(dtype), size));
  Array array(dtype, shape, std::shared_ptr<std::byte[]>(std::move(owner), static_cast<std::byte*>(data)));
  array.writable_ = writable;
  return array;
}

Array::Array(DType dtype, const Shape& shape, std::shared_ptr<std::byte[]> data)
    : data_(std::move(data)), shape_(shape), elements_(shape.elements()), dtype_(dtype) {}

void Array::refuse_writing() const {
  throw Error(fmt::format("the array {}{} is over memory that is only read; write to a clone()", name(dtype_),
                          to_string(shape_)));
}

void Array::check_type(DType wanted) const {
  const bool bytes_of_bool = wanted == DType::uint8 && dtype_ == DType::boolean;
  if (wanted != dtype_ && !bytes_of_bool)
    throw Error(fmt::format("the array holds {}, not {}; cast it with astype", name(dtype_), name(wanted)));
}

double Array::item_as_double() const {
  if (elements_ != 1)
    throw Error(fmt::format("item() needs an array of one element; this one has the shape {}", to_string(shape_)));
  return *astype(DType::float64).data<double>();
}

Array Array::clone() const {
  Array copy = uninitialised(dtype_, shape_);
  std::memcpy(copy.mutable_raw(), raw(), bytes());
  return copy;
}

Array Array::astype(DType dtype) const {
  if (dtype == dtype_) return *this;
  Array result = uninitialised(dtype, shape_);
  with_type(dtype_, [&](auto* from) {
    with_type(dtype, [&](auto* to) {
      const auto* in = reinterpret_cast<decltype(from)>(data_.get());
      auto* out = reinterpret_cast<decltype(to)>(result.mutable_raw());
      for (std::int64_t i = 0; i < elements_; ++i) out[i] = convert<std::remove_pointer_t<decltype(to)>>(in[i]);
    });
  });
  return result;
}

Array Array::reshape(Shape shape) const {
  int unknown = -1;
  std::int64_t known = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1 && unknown < 0) unknown = axis;
    else known *= shape[axis];
  }
  if (unknown >= 0 && known > 0 && elements_ % known == 0) shape[unknown] = elements_ / known;
  if (unknown >= 0 && shape[unknown] < 0 ? true : shape.elements() != elements_)
    throw Error(
        fmt::format("cannot reshape an array {} of {} elements to {}", to_string(shape_), elements_, to_string(shape)));
  Array result = *this;
  result.shape_ = shape;
  return result;
}

Array Array::slice(std::int64_t first, std::int64_t last) const {
  if (shape_.rank() == 0) throw Error("slice needs an array of at least one axis; this one is a scalar");
  if (first < 0 || last < first || last > shape_[0])
    throw Error(
        fmt::format("slice [{}, {}) is outside the {} rows of an array {}", first, last, shape_[0], to_string(shape_)));
  const std::int64_t row = shape_.stride(0);
  Array result = *this;
  result.shape_[0] = last - first;
  result.elements_ = (last - first) * row;
  const std::size_t offset = static_cast<std::size_t>(first * row) * size_of(dtype_);
  result.data_ = std::shared_ptr<std::byte[]>(data_, data_.get() + offset);
  return result;
}

}  // namespace pando
