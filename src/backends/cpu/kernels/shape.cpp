// SPDX-License-Identifier: Apache-2.0
// Data movement: for elements of any type, by their size.
#include "backends/cpu/kernels/element_bytes.h"

namespace pando::cpu {

namespace {

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
  return box_kernel(
      call, BoxCopy(box_axes<std::array<std::int64_t, 2>>(out, in, out), from, 0, element_bytes(call.outputs[0])));
}

std::unique_ptr<Kernel> pad(const KernelCall& call, const Routines&) {
  const Operand in = call.inputs[0], out = call.outputs[0];
  const Shape &inner = in.type.shape, &outer = out.type.shape;
  const Integers& before = call.attributes.integers("before");
  const BoxCopy copy(box_axes<std::array<std::int64_t, 2>>(inner, inner, outer), 0, offset_of(before, outer),
                     element_bytes(out));
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
    copies.emplace_back(box_axes<std::array<std::int64_t, 2>>(piece, piece, shape), 0, place * shape.stride(axis),
                        element_bytes(out));
    place += piece[axis];
  }
  return make_kernel([copies, in = call.inputs, out](const Tile& tile) {
    if (out.buffer < 0) return;
    for (std::size_t i = 0; i < copies.size(); ++i)
      copies[i].run(tile, pointer<std::byte>(tile, out), pointer<std::byte>(tile, in[i]));
  });
}

}  // namespace factories

}  // namespace pando::cpu
