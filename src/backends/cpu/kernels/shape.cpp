// Data movement: for elements of any type, by their size.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/kernels/box_copy.h"
#include "base/bfloat16.h"

namespace pando::cpu {

namespace {

// One element of any type, as its bytes.
using ElementBytes = std::array<std::byte, 8>;

template <class T>
ElementBytes bytes_of(T value) {
  ElementBytes bytes = {};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

ElementBytes element(DType dtype, double value) {
  switch (dtype) {
    case DType::float32: return bytes_of(static_cast<float>(value));
    case DType::float64: return bytes_of(value);
    case DType::bfloat16: return bytes_of(to_bfloat16(static_cast<float>(value)));
    case DType::int32: return bytes_of(static_cast<std::int32_t>(value));
    case DType::int64: return bytes_of(static_cast<std::int64_t>(value));
    case DType::uint8: return bytes_of(static_cast<std::uint8_t>(value));
    case DType::boolean: return bytes_of(value != 0);
  }
  return {};
}

// The value of a missing element.
ElementBytes missing(DType dtype) {
  const bool has_nan = is_floating(dtype) || dtype == DType::bfloat16;
  return element(dtype, has_nan ? std::numeric_limits<double>::quiet_NaN() : 0.0);
}

// Writes `value` to elements [first, first + count).
void fill(std::byte* out, std::int64_t first, std::int64_t count, const ElementBytes& value, std::size_t bytes) {
  with_element(bytes, [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    T bits;
    std::memcpy(&bits, value.data(), sizeof bits);
    std::fill_n(reinterpret_cast<T*>(out) + first, count, bits);
  });
}

std::size_t element_bytes(const Operand& operand) { return size_of(operand.type.dtype); }

// The axes of a box of the given sizes in memory of the shapes `in` and `out`.
Axes box_axes(const Shape& sizes, const Shape& in, const Shape& out) {
  Axes axes;
  for (int axis = 0; axis < sizes.rank(); ++axis) axes.push_back({sizes[axis], {in.stride(axis), out.stride(axis)}});
  return axes;
}

std::int64_t offset_of(const Integers& starts, const Shape& shape) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) offset += starts[static_cast<std::size_t>(axis)] * shape.stride(axis);
  return offset;
}

std::unique_ptr<Kernel> box_kernel(const KernelCall& call, const BoxCopy& copy) {
  return make_kernel([copy, in = call.inputs[0], out = call.outputs[0]](const Tile& tile) {
    if (out.buffer >= 0) copy.run(tile, pointer<std::byte>(tile, out), pointer<std::byte>(tile, in));
  });
}

// The elements of a padded tensor around the box in the middle, row by row.
class Border {
 public:
  Border(const Shape& in, const Shape& out, const Integers& before) {
    for (int axis = 0; axis < out.rank(); ++axis) {
      const bool padded = in[axis] != out[axis];
      // An axis without padding only makes the elements of the one before it longer.
      if (padded || axes_.empty()) axes_.push_back({in[axis], out[axis], before[static_cast<std::size_t>(axis)]});
      else axes_.back() = axes_.back().times(in[axis]);
    }
    if (axes_.empty()) return;
    row_ = axes_.back();
    axes_.pop_back();
  }

  void run(const Tile& tile, std::byte* out, const ElementBytes& value, std::size_t bytes) const {
    std::int64_t count = 1;
    for (const PaddedAxis& axis : axes_) count *= axis.out;
    const Range rows = share(tile, count);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const bool crosses = crosses_box(row);
      const std::int64_t first = crosses ? row_.before : row_.out;
      const std::int64_t behind = crosses ? first + row_.in : row_.out;
      fill(out, row * row_.out, first, value, bytes);
      fill(out, row * row_.out + behind, row_.out - behind, value, bytes);
    }
  }

 private:
  struct PaddedAxis {
    std::int64_t in, out, before;
    PaddedAxis times(std::int64_t size) const { return {in * size, out * size, before * size}; }
  };

  bool crosses_box(std::int64_t row) const {
    for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
      const std::int64_t place = row % axis->out - axis->before;
      if (place < 0 || place >= axis->in) return false;
      row /= axis->out;
    }
    return true;
  }

  std::vector<PaddedAxis> axes_;
  PaddedAxis row_ = {1, 1, 0};
};

}  // namespace

namespace factories {

std::unique_ptr<Kernel> reshape(const KernelCall& call, const Routines&) {
  const std::int64_t elements = call.outputs[0].type.shape.elements();
  return box_kernel(call, BoxCopy({{elements, {1, 1}}}, 0, 0, element_bytes(call.outputs[0])));
}

std::unique_ptr<Kernel> transpose(const KernelCall& call, const Routines&) {
  const Shape &in = call.inputs[0].type.shape, &out = call.outputs[0].type.shape;
  const Integers& permutation = call.attributes.integers("permutation");
  Axes axes;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto from = static_cast<int>(permutation[static_cast<std::size_t>(axis)]);
    axes.push_back({out[axis], {in.stride(from), out.stride(axis)}});
  }
  return box_kernel(call, BoxCopy(axes, 0, 0, element_bytes(call.outputs[0])));
}

std::unique_ptr<Kernel> broadcast(const KernelCall& call, const Routines&) {
  const Shape& out = call.outputs[0].type.shape;
  const std::vector<std::int64_t> strides = broadcast_strides(call.inputs[0].type.shape, out);
  Axes axes;
  for (int axis = 0; axis < out.rank(); ++axis)
    axes.push_back({out[axis], {strides[static_cast<std::size_t>(axis)], out.stride(axis)}});
  return box_kernel(call, BoxCopy(axes, 0, 0, element_bytes(call.outputs[0])));
}

std::unique_ptr<Kernel> slice(const KernelCall& call, const Routines&) {
  const Shape &in = call.inputs[0].type.shape, &out = call.outputs[0].type.shape;
  const std::int64_t from = offset_of(call.attributes.integers("starts"), in);
  return box_kernel(call, BoxCopy(box_axes(out, in, out), from, 0, element_bytes(call.outputs[0])));
}

std::unique_ptr<Kernel> pad(const KernelCall& call, const Routines&) {
  const Operand in = call.inputs[0], out = call.outputs[0];
  const Shape &inner = in.type.shape, &outer = out.type.shape;
  const Integers& before = call.attributes.integers("before");
  const BoxCopy copy(box_axes(inner, inner, outer), 0, offset_of(before, outer), element_bytes(out));
  const ElementBytes value = element(out.type.dtype, call.attributes.number("value"));
  return make_kernel([=, border = Border(inner, outer, before)](const Tile& tile) {
    if (out.buffer < 0) return;
    copy.run(tile, pointer<std::byte>(tile, out), pointer<std::byte>(tile, in));
    border.run(tile, pointer<std::byte>(tile, out), value, element_bytes(out));
  });
}

std::unique_ptr<Kernel> concat(const KernelCall& call, const Routines&) {
  const Operand out = call.outputs[0];
  const Shape& shape = out.type.shape;
  const auto axis = static_cast<int>(call.attributes.integer("axis"));
  std::vector<BoxCopy> copies;
  std::int64_t place = 0;
  for (const Operand& in : call.inputs) {
    const Shape& piece = in.type.shape;
    copies.emplace_back(box_axes(piece, piece, shape), 0, place * shape.stride(axis), element_bytes(out));
    place += piece[axis];
  }
  return make_kernel([copies, in = call.inputs, out](const Tile& tile) {
    if (out.buffer < 0) return;
    for (std::size_t i = 0; i < copies.size(); ++i)
      copies[i].run(tile, pointer<std::byte>(tile, out), pointer<std::byte>(tile, in[i]));
  });
}

std::unique_ptr<Kernel> gather(const KernelCall& call, const Routines&) {
  const Operand table = call.inputs[0], indices = call.inputs[1], out = call.outputs[0];
  const std::size_t bytes = element_bytes(out);
  const std::int64_t rows = table.type.shape[0], columns = table.type.shape.stride(0);
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(bytes);
  return make_kernel([=, nothing = missing(out.type.dtype), count = indices.type.shape.elements()](const Tile& tile) {
    if (out.buffer < 0) return;
    const Range range = share(tile, count);
    const auto* index = pointer<const std::int32_t>(tile, indices);
    const std::byte* from = pointer<const std::byte>(tile, table);
    std::byte* to = pointer<std::byte>(tile, out);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if (index[i] >= 0 && index[i] < rows)
        std::memcpy(to + i * row_bytes, from + index[i] * row_bytes, static_cast<std::size_t>(row_bytes));
      else fill(to, i * columns, columns, nothing, bytes);
    }
  });
}

std::unique_ptr<Kernel> gather_gradient(const KernelCall& call, const Routines& routines) {
  const Operand gradient = call.inputs[0], indices = call.inputs[1], out = call.outputs[0];
  const std::int64_t rows = out.type.shape[0], columns = out.type.shape.stride(0);
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(element_bytes(out));
  const ElementwiseRoutine add =
      routines.elementwise.by_op[static_cast<int>(Op::add)][static_cast<int>(out.type.dtype)];
  return make_kernel([=, count = indices.type.shape.elements()](const Tile& tile) {
    if (out.buffer < 0) return;
    // Each tile owns some rows of the table and adds to them in the order of the indices.
    const Range own = share(tile, rows);
    const auto* index = pointer<const std::int32_t>(tile, indices);
    const std::byte* from = pointer<const std::byte>(tile, gradient);
    std::byte* to = pointer<std::byte>(tile, out);
    std::memset(to + own.begin * row_bytes, 0, static_cast<std::size_t>((own.end - own.begin) * row_bytes));
    for (std::int64_t i = 0; i < count; ++i) {
      if (index[i] < own.begin || index[i] >= own.end) continue;
      std::byte* row = to + index[i] * row_bytes;
      add(row, row, from + i * row_bytes, nullptr, columns, nullptr);
    }
  });
}

std::unique_ptr<Kernel> one_hot(const KernelCall& call, const Routines&) {
  const Operand indices = call.inputs[0], out = call.outputs[0];
  const std::int64_t depth = call.attributes.integer("depth"), count = indices.type.shape.elements();
  const std::size_t bytes = element_bytes(out);
  return make_kernel([=, one = element(out.type.dtype, 1.0)](const Tile& tile) {
    if (out.buffer < 0) return;
    const Range range = share(tile, count);
    const auto* index = pointer<const std::int32_t>(tile, indices);
    std::byte* to = pointer<std::byte>(tile, out);
    // All bits zero is 0 in every type.
    const auto row_bytes = depth * static_cast<std::int64_t>(bytes);
    std::memset(to + range.begin * row_bytes, 0, static_cast<std::size_t>((range.end - range.begin) * row_bytes));
    for (std::int64_t i = range.begin; i < range.end; ++i)
      if (index[i] >= 0 && index[i] < depth) fill(to, i * depth + index[i], 1, one, bytes);
  });
}

}  // namespace factories

}  // namespace pando::cpu
