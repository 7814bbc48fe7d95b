// SPDX-License-Identifier: Apache-2.0
// Kernels of all elementwise ops: a single node is a program of one instruction. A thread takes a few elements through
// the whole program, so that an instruction is decoded once for them; operands are read when an instruction needs them,
// and results are written at the end, because a result may be the memory of an operand.
#include "backends/cuda/kernels/casts.cuh"
#include "backends/cuda/kernels/device_program.h"
#include "backends/cuda/launch.h"
#include "ops/scalar.h"

namespace pando::cuda {

namespace {

// Elements of a thread at a time.
constexpr int width = 4;

template <class T, class Bits>
__device__ T number(Bits bits) {
  if constexpr (std::is_same_v<T, float>) return bits.float32;
  else if constexpr (std::is_same_v<T, std::int32_t>) return bits.int32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return bits.int64;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return bits.uint8;
  else return bits.float64;
}
template <class Bits, class T>
__device__ Bits bits_of(T value) {
  Bits bits;
  if constexpr (std::is_same_v<T, float>) bits.float32 = value;
  else if constexpr (std::is_same_v<T, std::int32_t>) bits.int32 = value;
  else if constexpr (std::is_same_v<T, std::int64_t>) bits.int64 = value;
  else if constexpr (std::is_same_v<T, bool>) bits.uint8 = value;
  else bits.float64 = value;
  return bits;
}

template <template <class> class F, class T, class Bits>
__device__ void unary(const Step& step, Bits* out, const Bits* a) {
  const F<T> f(step.parameters);
#pragma unroll
  for (int w = 0; w < width; ++w) out[w] = bits_of<Bits>(f(number<T>(a[w])));
}
template <template <class> class F, class T, class Bits>
__device__ void binary(const Step& step, Bits* out, const Bits* a, const Bits* b) {
  const F<T> f(step.parameters);
#pragma unroll
  for (int w = 0; w < width; ++w) out[w] = bits_of<Bits>(f(number<T>(a[w]), number<T>(b[w])));
}

// Programs without types of 8 bytes get a kernel without their instructions.
template <bool wide, class Bits>
__device__ void compute(const Step& step, Bits* out, const Bits* a, const Bits* b, const Bits* c) {
  switch (step.op) {
#define PANDO_UNARY(name)                                                                 \
  case Index::name:                                                                       \
    if constexpr (wide)                                                                   \
      if (step.dtype == DType::float64) return unary<scalar::name, double>(step, out, a); \
    return unary<scalar::name, float>(step, out, a);
#define PANDO_UNARY_NUMERIC(name)                                                             \
  case Index::name:                                                                           \
    if constexpr (wide) {                                                                     \
      if (step.dtype == DType::float64) return unary<scalar::name, double>(step, out, a);     \
      if (step.dtype == DType::int64) return unary<scalar::name, std::int64_t>(step, out, a); \
    }                                                                                         \
    if (step.dtype == DType::int32) return unary<scalar::name, std::int32_t>(step, out, a);   \
    return unary<scalar::name, float>(step, out, a);
#define PANDO_BINARY(name)                                                                    \
  case Index::name:                                                                           \
    if constexpr (wide)                                                                       \
      if (step.dtype == DType::float64) return binary<scalar::name, double>(step, out, a, b); \
    return binary<scalar::name, float>(step, out, a, b);
#define PANDO_BINARY_NUMERIC(name)                                                                \
  case Index::name:                                                                               \
    if constexpr (wide) {                                                                         \
      if (step.dtype == DType::float64) return binary<scalar::name, double>(step, out, a, b);     \
      if (step.dtype == DType::int64) return binary<scalar::name, std::int64_t>(step, out, a, b); \
    }                                                                                             \
    if (step.dtype == DType::int32) return binary<scalar::name, std::int32_t>(step, out, a, b);   \
    return binary<scalar::name, float>(step, out, a, b);
#define PANDO_BINARY_INTEGER(name)                                                                \
  case Index::name:                                                                               \
    if constexpr (wide)                                                                           \
      if (step.dtype == DType::int64) return binary<scalar::name, std::int64_t>(step, out, a, b); \
    return binary<scalar::name, std::int32_t>(step, out, a, b);
#define PANDO_COMPARISON(name)                                                                    \
  case Index::name:                                                                               \
    if constexpr (wide) {                                                                         \
      if (step.dtype == DType::float64) return binary<scalar::name, double>(step, out, a, b);     \
      if (step.dtype == DType::int64) return binary<scalar::name, std::int64_t>(step, out, a, b); \
    }                                                                                             \
    if (step.dtype == DType::boolean) return binary<scalar::name, std::uint8_t>(step, out, a, b); \
    if (step.dtype == DType::int32) return binary<scalar::name, std::int32_t>(step, out, a, b);   \
    return binary<scalar::name, float>(step, out, a, b);
#define PANDO_LOGICAL_1(name)                                                                \
  case Index::name:                                                                          \
    for (int w = 0; w < width; ++w) out[w] = bits_of<Bits>(scalar::name()(a[w].uint8 != 0)); \
    return;
#define PANDO_LOGICAL_2(name)                                                                                 \
  case Index::name:                                                                                           \
    for (int w = 0; w < width; ++w) out[w] = bits_of<Bits>(scalar::name()(a[w].uint8 != 0, b[w].uint8 != 0)); \
    return;
#define PANDO_OP(name)
#include "ops/ops.def"
    case Index::select:
      for (int w = 0; w < width; ++w) out[w] = a[w].uint8 != 0 ? b[w] : c[w];
      return;
    case Index::cast:
      for (int w = 0; w < width; ++w) out[w] = cast_bits<wide>(step.dtype, step.result, a[w]);
      return;
    default: return;
  }
}

template <class Bits>
__device__ Bits load(const std::byte* data, std::int64_t offset, int bytes) {
  Bits bits;
  switch (bytes) {
    case 1: bits.uint8 = reinterpret_cast<const std::uint8_t*>(data)[offset]; break;
    case 2: bits.bfloat16 = reinterpret_cast<const std::uint16_t*>(data)[offset]; break;
    case 4: bits.int32 = reinterpret_cast<const std::int32_t*>(data)[offset]; break;
    default:
      if constexpr (sizeof(Bits) == 8) bits.int64 = reinterpret_cast<const std::int64_t*>(data)[offset];
  }
  return bits;
}

template <class Bits>
__device__ void store(std::byte* data, std::int64_t offset, int bytes, Bits bits) {
  switch (bytes) {
    case 1: reinterpret_cast<std::uint8_t*>(data)[offset] = bits.uint8; break;
    case 2: reinterpret_cast<std::uint16_t*>(data)[offset] = bits.bfloat16; break;
    case 4: reinterpret_cast<std::int32_t*>(data)[offset] = bits.int32; break;
    default:
      if constexpr (sizeof(Bits) == 8) reinterpret_cast<std::int64_t*>(data)[offset] = bits.int64;
  }
}

// Division of 32 bits takes a quarter of the time.
__device__ std::int64_t quotient(std::int64_t a, std::int64_t b) {
  return (a | b) >> 32 == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b) : a / b;
}

template <class Program>
__device__ std::int64_t strided_offset(const Program& program, const Source& source, std::int64_t element) {
  std::int64_t offset = 0;
  for (int axis = program.rank - 1; axis >= 0; --axis) {
    const std::int64_t rest = quotient(element, program.sizes[axis]);
    offset += (element - rest * program.sizes[axis]) * source.strides[axis];
    element = rest;
  }
  return offset;
}

template <class Bits>
__device__ void copy_all(Bits* to, const Bits* from) {
#pragma unroll
  for (int w = 0; w < width; ++w) to[w] = from[w];
}

// The elements of an operand for each element of the thread.
template <class Bits, class Program>
__device__ void read(const Program& program, const Source& source, const std::int64_t* elements, Bits* out) {
#pragma unroll
  for (int w = 0; w < width; ++w) {
    std::int64_t offset = elements[w];
    if (source.kind == Source::Kind::periodic) {
      if (source.run > 1) offset = quotient(offset, source.run);
      offset = source.period == 1 ? 0 : offset - quotient(offset, source.period) * source.period;
    } else if (source.kind == Source::Kind::strided) {
      offset = strided_offset(program, source, offset);
    }
    out[w] = load<Bits>(source.data, offset, source.bytes);
  }
}

template <bool wide, class Program>
__global__ void __launch_bounds__(block_threads) run_program(const __grid_constant__ Program program) {
  using Bits = BitsOf<wide>;
  constexpr bool is_single = Program::most_steps == 1;
  Bits registers[Program::most_steps][width];
  const std::int64_t stride = element_stride();
  for (std::int64_t first = first_element(); first < program.elements; first += width * stride) {
    // Those past the end are read again as the last one, and not written.
    std::int64_t elements[width];
#pragma unroll
    for (int w = 0; w < width; ++w) elements[w] = min(first + w * stride, program.elements - 1);
    const auto get = [&](int argument, Bits* out) {
      if (argument < 0) read(program, program.source[-1 - argument], elements, out);
      else copy_all(out, registers[is_single ? 0 : argument]);
    };
    for (int s = 0; s < (is_single ? 1 : program.steps); ++s) {
      const Step& step = program.step[s];
      Bits a[width], b[width], c[width];
      get(step.arguments[0], a);
      if (step.arguments[1] != step.arguments[0]) get(step.arguments[1], b);
      else copy_all(b, a);
      if (step.op == Index::select) get(step.arguments[2], c);
      compute<wide>(step, registers[is_single ? 0 : s], a, b, c);
    }
    // All operands are read before any result is written.
    for (int t = 0; t < program.targets; ++t) {
      const Target& target = program.target[t];
      if (target.data == nullptr) continue;
#pragma unroll
      for (int w = 0; w < width; ++w)
        if (first + w * stride < program.elements)
          store(target.data, elements[w], target.bytes, registers[is_single ? 0 : target.value][w]);
    }
  }
}

template <class Program>
std::unique_ptr<Kernel> kernel_of(const ElementwiseProgram& program, const KernelCall& call) {
  return make_kernel([made = translate<Program>(program, call), wide = is_wide(program)](const Operands& operands,
                                                                                         cudaStream_t stream) {
    if (made.elements == 0) return;
    Program bound = made;
    for (std::size_t i = 0; i < operands.inputs.size(); ++i) bound.source[i].data = operands.inputs[i];
    for (std::size_t i = 0; i < operands.outputs.size(); ++i) bound.target[i].data = operands.outputs[i];
    const unsigned blocks = blocks_for((made.elements + width - 1) / width);
    if (wide) run_program<true><<<blocks, block_threads, 0, stream>>>(bound);
    else run_program<false><<<blocks, block_threads, 0, stream>>>(bound);
    check_launch("to launch an elementwise program");
  });
}

std::unique_ptr<Kernel> elementwise(const KernelCall& call) {
  const ElementwiseProgram program = program_of(call);
  if (fits<SingleProgram>(program)) return kernel_of<SingleProgram>(program, call);
  if (fits<SmallProgram>(program)) return kernel_of<SmallProgram>(program, call);
  if (fits<LargeProgram>(program)) return kernel_of<LargeProgram>(program, call);
  throw InternalError("an elementwise program is too long for the GPU");
}

}  // namespace

namespace factories {

#define PANDO_ELEMENTWISE(name) \
  std::unique_ptr<Kernel> name(const KernelCall& call, const KernelContext&) { return elementwise(call); }
#define PANDO_UNARY(name) PANDO_ELEMENTWISE(name)
#define PANDO_UNARY_NUMERIC(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY_NUMERIC(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY_INTEGER(name) PANDO_ELEMENTWISE(name)
#define PANDO_COMPARISON(name) PANDO_ELEMENTWISE(name)
#define PANDO_LOGICAL_1(name) PANDO_ELEMENTWISE(name)
#define PANDO_LOGICAL_2(name) PANDO_ELEMENTWISE(name)
#include "ops/ops.def"
PANDO_ELEMENTWISE(select)
PANDO_ELEMENTWISE(cast)
PANDO_ELEMENTWISE(fused)
#undef PANDO_ELEMENTWISE

}  // namespace factories

}  // namespace pando::cuda
