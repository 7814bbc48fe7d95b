// SPDX-License-Identifier: Apache-2.0
// Data movement: for elements of any type, by their size.
#include <bit>
#include <cstring>

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/strides.h"
#include "backends/cuda/launch.h"
#include "base/bfloat16.h"

namespace pando::cuda {

namespace {

// Walk 0 is over the input, walk 1 over the output.
struct Box {
  TwoWalks walks;
  std::int64_t count = 0, from = 0, to = 0;

  Box(const Axes& axes, std::int64_t from_offset, std::int64_t to_offset)
      : walks(collapse(axes)), count(count_positions(axes)), from(from_offset), to(to_offset) {}
};

template <class T>
__global__ void copy_box(T* out, const T* in, const __grid_constant__ Box box) {
  for (std::int64_t i = first_element(); i < box.count; i += element_stride()) {
    const TwoWalks::Offsets offsets = box.walks.at(i);
    out[box.to + offsets.second] = in[box.from + offsets.first];
  }
}

// The output's axes: where the input begins and ends in each, and the input's strides.
struct Border {
  int rank = 0;
  std::int64_t count = 0;
  std::int64_t size[Shape::max_rank] = {}, before[Shape::max_rank] = {}, inner[Shape::max_rank] = {},
               stride[Shape::max_rank] = {};
  std::uint64_t value = 0;
};

template <class T>
__global__ void pad_box(T* out, const T* in, const __grid_constant__ Border border) {
  for (std::int64_t i = first_element(); i < border.count; i += element_stride()) {
    std::int64_t rest = i, offset = 0;
    bool inside = true;
    for (int axis = border.rank - 1; axis >= 0; --axis) {
      const std::int64_t place = rest % border.size[axis] - border.before[axis];
      rest /= border.size[axis];
      inside &= place >= 0 && place < border.inner[axis];
      offset += place * border.stride[axis];
    }
    out[i] = inside ? in[offset] : static_cast<T>(border.value);
  }
}

// Calls `visit` with a null pointer of an unsigned type of that size.
template <class Visit>
void with_element(std::size_t bytes, Visit visit) {
  switch (bytes) {
    case 1: return visit(static_cast<std::uint8_t*>(nullptr));
    case 2: return visit(static_cast<std::uint16_t*>(nullptr));
    case 4: return visit(static_cast<std::uint32_t*>(nullptr));
    default: return visit(static_cast<std::uint64_t*>(nullptr));
  }
}

void launch_box(const Box& box, std::byte* out, const std::byte* in, std::size_t bytes, cudaStream_t stream) {
  if (out == nullptr || box.count == 0) return;
  with_element(bytes, [&](auto* element) {
    using T = std::remove_pointer_t<decltype(element)>;
    copy_box<<<blocks_for(box.count), block_threads, 0, stream>>>(reinterpret_cast<T*>(out),
                                                                  reinterpret_cast<const T*>(in), box);
  });
  check_launch("to launch a copy");
}

std::size_t element_bytes(const KernelCall& call) { return size_of(call.outputs[0].type.dtype); }

std::unique_ptr<Kernel> box_kernel(const KernelCall& call, const Box& box) {
  return make_kernel([box, bytes = element_bytes(call)](const Operands& operands, cudaStream_t stream) {
    launch_box(box, operands.outputs[0], operands.inputs[0], bytes, stream);
  });
}

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::uint64_t element_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::float32: return bits_of(static_cast<float>(value));
    case DType::float64: return bits_of(value);
    case DType::bfloat16: return bits_of(to_bfloat16(static_cast<float>(value)));
    case DType::int32: return bits_of(static_cast<std::int32_t>(value));
    case DType::int64: return bits_of(static_cast<std::int64_t>(value));
    case DType::uint8: return bits_of(static_cast<std::uint8_t>(value));
    case DType::boolean: return bits_of(value != 0);
  }
  return 0;
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> reshape(const KernelCall& call, const KernelContext&) {
  return box_kernel(call, Box({{call.outputs[0].type.shape.elements(), {1, 1}}}, 0, 0));
}

std::unique_ptr<Kernel> transpose(const KernelCall& call, const KernelContext&) {
  const Shape &in = call.inputs[0].type.shape, &out = call.outputs[0].type.shape;
  const Integers& permutation = call.attributes.integers("permutation");
  Axes axes;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const auto from = static_cast<int>(permutation[static_cast<std::size_t>(axis)]);
    axes.push_back({out[axis], {in.stride(from), out.stride(axis)}});
  }
  return box_kernel(call, Box(axes, 0, 0));
}

std::unique_ptr<Kernel> broadcast(const KernelCall& call, const KernelContext&) {
  const Shape& out = call.outputs[0].type.shape;
  const std::vector<std::int64_t> strides = broadcast_strides(call.inputs[0].type.shape, out);
  Axes axes;
  for (int axis = 0; axis < out.rank(); ++axis)
    axes.push_back({out[axis], {strides[static_cast<std::size_t>(axis)], out.stride(axis)}});
  return box_kernel(call, Box(axes, 0, 0));
}

std::unique_ptr<Kernel> slice(const KernelCall& call, const KernelContext&) {
  const Shape &in = call.inputs[0].type.shape, &out = call.outputs[0].type.shape;
  return box_kernel(call, Box(box_axes<std::vector<std::int64_t>>(out, in, out),
                              offset_of(call.attributes.integers("starts"), in), 0));
}

std::unique_ptr<Kernel> pad(const KernelCall& call, const KernelContext&) {
  const Shape &in = call.inputs[0].type.shape, &out = call.outputs[0].type.shape;
  Border border{.rank = out.rank(),
                .count = out.elements(),
                .value = element_bits(call.outputs[0].type.dtype, call.attributes.number("value"))};
  for (int axis = 0; axis < out.rank(); ++axis) {
    border.size[axis] = out[axis];
    border.before[axis] = call.attributes.integers("before")[static_cast<std::size_t>(axis)];
    border.inner[axis] = in[axis];
    border.stride[axis] = in.stride(axis);
  }
  return make_kernel([border, bytes = element_bytes(call)](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr || border.count == 0) return;
    with_element(bytes, [&](auto* element) {
      using T = std::remove_pointer_t<decltype(element)>;
      pad_box<<<blocks_for(border.count), block_threads, 0, stream>>>(output<T>(operands, 0), input<T>(operands, 0),
                                                                      border);
    });
    check_launch("to launch pad");
  });
}

std::unique_ptr<Kernel> concat(const KernelCall& call, const KernelContext&) {
  const Shape& shape = call.outputs[0].type.shape;
  const auto axis = static_cast<int>(call.attributes.integer("axis"));
  std::vector<Box> boxes;
  std::int64_t place = 0;
  for (const Operand& in : call.inputs) {
    const Shape& piece = in.type.shape;
    boxes.emplace_back(box_axes<std::vector<std::int64_t>>(piece, piece, shape), 0, place * shape.stride(axis));
    place += piece[axis];
  }
  return make_kernel([boxes, bytes = element_bytes(call)](const Operands& operands, cudaStream_t stream) {
    for (std::size_t i = 0; i < boxes.size(); ++i)
      launch_box(boxes[i], operands.outputs[0], operands.inputs[i], bytes, stream);
  });
}

}  // namespace factories

}  // namespace pando::cuda
