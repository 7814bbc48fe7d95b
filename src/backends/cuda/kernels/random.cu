// SPDX-License-Identifier: Apache-2.0
// Dropout and random numbers: a thread draws one block of the Philox sequence, four words, as the CPU numbers them.
// Element e of sample s takes word e % 4 of block e / 4 of the sequence (seed, stream, update, first sample + s).
#include "backends/cuda/kernel.h"
#include "backends/cuda/launch.h"
#include "base/philox.h"
#include "ops/normal.h"

namespace pando::cuda {

namespace {

// A random op's fixed part.
struct Draws {
  std::uint64_t seed;
  std::uint32_t stream;
  std::int64_t samples, elements_per_sample, blocks_per_sample;
  // Of the counter, which holds the update and the first sample.
  bool wide_counter;

  Draws(const KernelCall& call, const Operand& counter, const Shape& shape)
      : seed(static_cast<std::uint64_t>(call.attributes.integer("seed"))),
        stream(static_cast<std::uint32_t>(call.attributes.integer("stream"))),
        samples(shape.rank() == 0 ? 1 : shape[0]),
        elements_per_sample(shape.rank() == 0 ? 1 : shape.part(1, shape.rank()).elements()),
        blocks_per_sample((elements_per_sample + 3) / 4),
        wide_counter(counter.type.dtype == DType::int64) {}

  std::int64_t blocks() const { return samples * blocks_per_sample; }

  // The key of the first sample.
  __device__ philox::Key key(const void* counter) const {
    const auto number = [&](int index) -> std::int64_t {
      return wide_counter ? static_cast<const std::int64_t*>(counter)[index]
                          : static_cast<const std::int32_t*>(counter)[index];
    };
    const std::int64_t update = number(0);
    // Updates from 2^32 on draw from another sequence rather than from the first one again.
    return {seed + static_cast<std::uint64_t>(update >> 32) * 0x9E3779B97F4A7C15u, stream,
            static_cast<std::uint32_t>(update), static_cast<std::uint32_t>(number(1))};
  }
};

// Calls use(element, words, count) for each block of this thread: the words are those of elements [element, + count).
template <class Use>
__device__ void for_blocks(const Draws& draws, const void* counter, Use use) {
  const philox::Key first = draws.key(counter);
  const std::int64_t blocks = draws.samples * draws.blocks_per_sample;
  for (std::int64_t i = first_element(); i < blocks; i += element_stride()) {
    const std::int64_t sample = i / draws.blocks_per_sample, block = i % draws.blocks_per_sample;
    philox::Key key = first;
    key.sample += static_cast<std::uint32_t>(sample);
    const philox::Block words = philox::block(key, static_cast<std::uint32_t>(block));
    const std::int64_t rest = draws.elements_per_sample - 4 * block;
    use(sample * draws.elements_per_sample + 4 * block, words, rest < 4 ? static_cast<int>(rest) : 4);
  }
}

// 0 where uniform < rate, else x / (1 - rate).
template <class T>
__global__ void drop_elements(const Draws draws, const void* counter, const T* x, T* y, const float rate,
                              const T scale) {
  for_blocks(draws, counter, [=](std::int64_t element, const philox::Block& words, int count) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i < count) y[element + i] = philox::uniform(words.word[i]) >= rate ? x[element + i] * scale : T(0);
  });
}

template <class T>
__global__ void draw_uniform(const Draws draws, const void* counter, T* out, const T low, const T range) {
  for_blocks(draws, counter, [=](std::int64_t element, const philox::Block& words, int count) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i < count) out[element + i] = low + range * T(philox::uniform(words.word[i]));
  });
}

template <class T>
__global__ void draw_normal(const Draws draws, const void* counter, T* out, const T mean, const T deviation) {
  for_blocks(draws, counter, [=](std::int64_t element, const philox::Block& words, int count) {
    T values[4];
    scalar::normal_pair(words.word[0], words.word[1], mean, deviation, values);
    scalar::normal_pair(words.word[2], words.word[3], mean, deviation, values + 2);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (i < count) out[element + i] = values[i];
  });
}

template <class T>
std::unique_ptr<Kernel> make_dropout(const KernelCall& call) {
  const double rate = call.attributes.number("rate");
  const Draws draws(call, call.inputs[1], call.inputs[0].type.shape);
  return make_kernel([=](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr || draws.blocks() == 0) return;
    drop_elements<T><<<blocks_for(draws.blocks()), block_threads, 0, stream>>>(
        draws, operands.inputs[1], input<T>(operands, 0), output<T>(operands, 0), static_cast<float>(rate),
        static_cast<T>(1 / (1 - rate)));
    check_launch("dropout");
  });
}

// `a` and `b` are the two parameters of the distribution.
std::unique_ptr<Kernel> make_numbers(const KernelCall& call, void (*kernel)(Draws, const void*, float*, float, float),
                                     double a, double b) {
  const Draws draws(call, call.inputs[0], call.outputs[0].type.shape);
  return make_kernel([=, op = call.op->name.data()](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr || draws.blocks() == 0) return;
    kernel<<<blocks_for(draws.blocks()), block_threads, 0, stream>>>(
        draws, operands.inputs[0], output<float>(operands, 0), static_cast<float>(a), static_cast<float>(b));
    check_launch(op);
  });
}

}  // namespace

std::unique_ptr<Kernel> factories::dropout(const KernelCall& call, const KernelContext&) {
  return call.outputs[0].type.dtype == DType::float64 ? make_dropout<double>(call) : make_dropout<float>(call);
}

std::unique_ptr<Kernel> factories::random_uniform(const KernelCall& call, const KernelContext&) {
  const double low = call.attributes.number("low");
  return make_numbers(call, draw_uniform<float>, low, call.attributes.number("high") - low);
}

std::unique_ptr<Kernel> factories::random_normal(const KernelCall& call, const KernelContext&) {
  return make_numbers(call, draw_normal<float>, call.attributes.number("mean"), call.attributes.number("deviation"));
}

}  // namespace pando::cuda
