// SPDX-License-Identifier: Apache-2.0
// Dropout and random numbers, shared by blocks of the Philox sequence.
#include <algorithm>

#include "backends/cpu/kernels.h"

namespace pando::cpu {

namespace {

// The number of Philox blocks that routines make at once.
constexpr std::int64_t blocks_per_unit = 16;

// A random op's fixed part, and the operand that holds the update and the first sample.
struct Draws {
  RandomSequence sequence;
  Operand counter;
  std::int64_t blocks;

  Draws(const KernelCall& call, const Operand& counter_operand, const Shape& shape)
      : sequence{.seed = static_cast<std::uint64_t>(call.attributes.integer("seed")),
                 .stream = static_cast<std::uint32_t>(call.attributes.integer("stream")),
                 .update = 0,
                 .first_sample = 0,
                 .elements_per_sample = shape.rank() == 0 ? 1 : shape.part(1, shape.rank()).elements()},
        counter(counter_operand),
        blocks((shape.rank() == 0 ? 1 : shape[0]) * sequence.blocks_per_sample()) {}

  RandomSequence at(const Tile& tile) const {
    RandomSequence now = sequence;
    const std::int64_t update = whole_number(tile, counter, 0);
    now.update = static_cast<std::uint32_t>(update);
    // Updates from 2^32 on draw from another sequence rather than from the first one again.
    now.seed += static_cast<std::uint64_t>(update >> 32) * 0x9E3779B97F4A7C15u;
    now.first_sample = static_cast<std::uint32_t>(whole_number(tile, counter, 1));
    return now;
  }

  Range range(const Tile& tile) const {
    const Range units = share(tile, (blocks + blocks_per_unit - 1) / blocks_per_unit);
    return {units.begin * blocks_per_unit, std::min(units.end * blocks_per_unit, blocks)};
  }
};

template <class T>
std::unique_ptr<Kernel> make_dropout(const KernelCall& call, decltype(RandomRoutinesOf<T>::dropout) routine) {
  const Operand x = call.inputs[0], y = call.outputs[0];
  const double rate = call.attributes.number("rate");
  return make_kernel([=, draws = Draws(call, call.inputs[1], x.type.shape)](const Tile& tile) {
    const Range range = draws.range(tile);
    if (y.buffer >= 0)
      routine(pointer<T>(tile, y), pointer<const T>(tile, x), draws.at(tile), range.begin, range.end, rate);
  });
}

// `a` and `b` are the two parameters of the distribution.
template <class T>
std::unique_ptr<Kernel> make_numbers(const KernelCall& call, decltype(RandomRoutinesOf<T>::uniform) routine, double a,
                                     double b) {
  const Operand out = call.outputs[0];
  return make_kernel([=, draws = Draws(call, call.inputs[0], out.type.shape)](const Tile& tile) {
    const Range range = draws.range(tile);
    if (out.buffer >= 0) routine(pointer<T>(tile, out), draws.at(tile), range.begin, range.end, a, b);
  });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> dropout(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.outputs[0].type.dtype, routines.random,
                   [&]<class T>(const RandomRoutinesOf<T>& of) { return make_dropout<T>(call, of.dropout); });
}

std::unique_ptr<Kernel> random_uniform(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.outputs[0].type.dtype, routines.random, [&]<class T>(const RandomRoutinesOf<T>& of) {
    return make_numbers<T>(call, of.uniform, call.attributes.number("low"), call.attributes.number("high"));
  });
}

std::unique_ptr<Kernel> random_normal(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.outputs[0].type.dtype, routines.random, [&]<class T>(const RandomRoutinesOf<T>& of) {
    return make_numbers<T>(call, of.normal, call.attributes.number("mean"), call.attributes.number("deviation"));
  });
}

}  // namespace factories

}  // namespace pando::cpu
