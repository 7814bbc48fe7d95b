// SPDX-License-Identifier: Apache-2.0
// Elements chosen along an axis by indices, read and written.
#include <pando/base/error.h>

#include "backends/cpu/kernels/element_bytes.h"
#include "ops/indexed.h"
#include "ops/scalar.h"

namespace pando::cpu {

namespace {

// Tiles divide the lines along the axis into blocks of up to this many neighbours.
constexpr std::int64_t lines_per_block = 16;
// Updates of fewer neighbours than this are applied one by one.
constexpr std::int64_t fewest_neighbours = 8;

// The part of a result that one tile writes: of one outer position, some places along the axis and some inner
// positions.
struct IndexedPart {
  std::int64_t outer;
  Range places, inner;
};

// Calls visit(part) for each part of a tile. Whatever the division, the updates of an element meet it in one order.
void for_parts(const Tile& tile, const IndexedAxis& axis, const auto& visit) {
  const std::int64_t blocks = (axis.inner + lines_per_block - 1) / lines_per_block;
  // Where there are no places, a line still meets indices, all of them out of range.
  const bool by_lines = axis.outer * blocks >= tile.count || axis.size == 0;
  const std::int64_t units = by_lines ? blocks : axis.size, width = by_lines ? lines_per_block : axis.inner;
  const Range own = share(tile, axis.outer * units);
  for (std::int64_t unit = own.begin; unit < own.end;) {
    const std::int64_t outer = unit / units, first = unit % units;
    const std::int64_t last = std::min(units, first + own.end - unit);
    if (by_lines) visit(IndexedPart{outer, {0, axis.size}, {first * width, std::min(last * width, axis.inner)}});
    else visit(IndexedPart{outer, {first, last}, {0, axis.inner}});
    unit += last - first;
  }
}

void copy_part(const IndexedAxis& axis, const IndexedPart& part, std::byte* out, const std::byte* x,
               std::int64_t bytes) {
  const bool is_whole = part.inner.begin == 0 && part.inner.end == axis.inner;
  const std::int64_t count = part.places.end - part.places.begin, width = part.inner.end - part.inner.begin;
  std::int64_t from = ((part.outer * axis.size + part.places.begin) * axis.inner + part.inner.begin) * bytes;
  for (std::int64_t i = 0; i < (is_whole ? 1 : count); ++i, from += axis.inner * bytes)
    std::memcpy(out + from, x + from, static_cast<std::size_t>((is_whole ? count : 1) * width * bytes));
}

struct TakeAlong {
  Operand x, indices, out;
  IndexedAxis axis;

  template <class T>
  void run(const Tile& tile) const {
    // Neighbours in the output that lie along the axis if nothing is behind it, and otherwise behind it.
    const bool along = axis.inner == 1;
    const std::int64_t length = along ? axis.count : axis.inner;
    const Range range = share(tile, axis.outer * axis.count * axis.inner);
    for (std::int64_t i = range.begin; i < range.end;) {
      const std::int64_t row = i / length, first = i % length, count = std::min(length - first, range.end - i);
      const std::int64_t outer = along ? row : row / axis.count, place = along ? first : row % axis.count;
      const auto* index = pointer<const std::int32_t>(tile, indices) + outer * axis.outer_step + place * axis.step;
      const T* from = pointer<const T>(tile, x) + outer * axis.size * axis.inner + (along ? 0 : first);
      T* to = pointer<T>(tile, out) + i;
      if (along) take<0>(tile, to, from, index, count);
      else if (axis.inner_step == 1) take<1>(tile, to, from, index + first, count);
      else copy_row(tile, to, from, *index, count);
      i += count;
    }
  }

 private:
  bool is_in_range(const Tile& tile, std::int32_t index) const {
    if (index >= 0 && index < axis.size) return true;
    if (tile.out_of_range != nullptr) *tile.out_of_range = true;
    return false;
  }
  template <int step, class T>
  void take(const Tile& tile, T* to, const T* from, const std::int32_t* index, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i)
      if (is_in_range(tile, index[i])) to[i] = from[index[i] * axis.inner + step * i];
  }
  template <class T>
  void copy_row(const Tile& tile, T* to, const T* from, std::int32_t index, std::int64_t count) const {
    if (is_in_range(tile, index))
      std::memcpy(to, from + index * axis.inner, static_cast<std::size_t>(count) * sizeof(T));
  }
};

// What an update does: to one element, and by a routine to several neighbours.
template <class T>
struct SetElement {
  explicit SetElement(const double*) {}
  T operator()(T, T update) const { return update; }
};

template <class T, class Combine>
class ScatterKernel final : public Kernel {
 public:
  ScatterKernel(const KernelCall& call, ElementwiseRoutine routine)
      : x_(call.inputs[0]),
        indices_(call.inputs[1]),
        updates_(call.inputs[2]),
        out_(call.outputs[0]),
        axis_(x_.type.shape, indices_.type.shape, static_cast<int>(call.attributes.integer("axis"))),
        routine_(routine) {}

  void run(const Tile& tile) const override {
    if (out_.buffer < 0) return;
    const auto* x = pointer<const std::byte>(tile, x_);
    auto* out = pointer<std::byte>(tile, out_);
    for_parts(tile, axis_, [&](const IndexedPart& part) {
      if (out != x) copy_part(axis_, part, out, x, sizeof(T));
      if (axis_.inner_step == 0 && part.inner.end - part.inner.begin >= fewest_neighbours) apply_rows(tile, part);
      else apply_elements(tile, part);
    });
  }

 private:
  // Whether the part has that place along the axis.
  bool is_met(const Tile& tile, const IndexedPart& part, std::int32_t index) const {
    if (index >= part.places.begin && index < part.places.end) return true;
    if ((index < 0 || index >= axis_.size) && tile.out_of_range != nullptr) *tile.out_of_range = true;
    return false;
  }

  void apply_rows(const Tile& tile, const IndexedPart& part) const {
    const auto* index = pointer<const std::int32_t>(tile, indices_) + part.outer * axis_.outer_step;
    const T* update = pointer<const T>(tile, updates_) + part.outer * axis_.count * axis_.inner + part.inner.begin;
    T* const out = pointer<T>(tile, out_) + part.outer * axis_.size * axis_.inner + part.inner.begin;
    const std::int64_t width = part.inner.end - part.inner.begin;
    for (std::int64_t i = 0; i < axis_.count; ++i, index += axis_.step, update += axis_.inner) {
      if (!is_met(tile, part, *index)) continue;
      T* const to = out + *index * axis_.inner;
      if (routine_ == nullptr) std::memcpy(to, update, static_cast<std::size_t>(width) * sizeof(T));
      else routine_(to, to, update, nullptr, width, nullptr);
    }
  }

  void apply_elements(const Tile& tile, const IndexedPart& part) const {
    const Combine combine(nullptr);
    const auto* indices = pointer<const std::int32_t>(tile, indices_) + part.outer * axis_.outer_step;
    const T* update = pointer<const T>(tile, updates_) + part.outer * axis_.count * axis_.inner;
    T* const out = pointer<T>(tile, out_) + part.outer * axis_.size * axis_.inner;
    for (std::int64_t i = 0; i < axis_.count; ++i, indices += axis_.step, update += axis_.inner)
      for (std::int64_t k = part.inner.begin; k < part.inner.end; ++k) {
        const std::int32_t index = indices[k * axis_.inner_step];
        if (!is_met(tile, part, index)) continue;
        T& to = out[index * axis_.inner + k];
        to = combine(to, update[k]);
      }
  }

  Operand x_, indices_, updates_, out_;
  IndexedAxis axis_;
  // Null where rows are copied.
  ElementwiseRoutine routine_;
};

template <template <class> class Combine>
std::unique_ptr<Kernel> combining(const KernelCall& call, const Routines& routines, Op op) {
  const DType dtype = call.outputs[0].type.dtype;
  const ElementwiseRoutine routine = routines.elementwise.by_op[static_cast<int>(op)][static_cast<int>(dtype)];
  switch (dtype) {
    case DType::float32: return std::make_unique<ScatterKernel<float, Combine<float>>>(call, routine);
    case DType::float64: return std::make_unique<ScatterKernel<double, Combine<double>>>(call, routine);
    case DType::int32: return std::make_unique<ScatterKernel<std::int32_t, Combine<std::int32_t>>>(call, routine);
    case DType::int64: return std::make_unique<ScatterKernel<std::int64_t, Combine<std::int64_t>>>(call, routine);
    default: throw InternalError("the CPU combines no elements of " + std::string(name(dtype)));
  }
}

std::unique_ptr<Kernel> setting(const KernelCall& call) {
  std::unique_ptr<Kernel> kernel;
  with_element(element_bytes(call.outputs[0]), [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    kernel = std::make_unique<ScatterKernel<T, SetElement<T>>>(call, nullptr);
  });
  return kernel;
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> take_along(const KernelCall& call, const Routines&) {
  const Operand x = call.inputs[0], indices = call.inputs[1], out = call.outputs[0];
  const TakeAlong taking{
      x, indices, out,
      IndexedAxis(x.type.shape, indices.type.shape, static_cast<int>(call.attributes.integer("axis")))};
  return make_kernel([taking](const Tile& tile) {
    if (taking.out.buffer < 0) return;
    with_element(element_bytes(taking.out),
                 [&](auto* typed) { taking.run<std::remove_pointer_t<decltype(typed)>>(tile); });
  });
}

std::unique_ptr<Kernel> scatter(const KernelCall& call, const Routines& routines) {
  switch (scatter_mode_named(call.attributes.text("mode"))) {
    case ops::ScatterMode::set: return setting(call);
    case ops::ScatterMode::add: return combining<scalar::add>(call, routines, Op::add);
    case ops::ScatterMode::multiply: return combining<scalar::multiply>(call, routines, Op::multiply);
    case ops::ScatterMode::maximum: return combining<scalar::maximum>(call, routines, Op::maximum);
    case ops::ScatterMode::minimum: return combining<scalar::minimum>(call, routines, Op::minimum);
  }
  throw InternalError("scatter has another mode");
}

}  // namespace factories

}  // namespace pando::cpu
