// SPDX-License-Identifier: Apache-2.0
// Random numbers by Philox: which numbers an element gets depends only on its sample and its place in it.
#pragma once
#include <cstdint>

namespace pando::cpu {

// Element e of sample s takes word e % 4 of the block e / 4 of the sequence (seed, stream, update, first_sample + s).
struct RandomSequence {
  std::uint64_t seed;
  std::uint32_t stream, update, first_sample;
  std::int64_t elements_per_sample;

  std::int64_t blocks_per_sample() const { return (elements_per_sample + 3) / 4; }
};

// Numbers of blocks [first, last), counted over all samples; pointers are to element 0 of sample 0.
template <class T>
struct RandomRoutinesOf {
  // 0 where uniform < rate, else x / (1 - rate).
  void (*dropout)(T* out, const T* x, const RandomSequence& sequence, std::int64_t first, std::int64_t last,
                  double rate);
  void (*uniform)(T* out, const RandomSequence& sequence, std::int64_t first, std::int64_t last, double low,
                  double high);
  void (*normal)(T* out, const RandomSequence& sequence, std::int64_t first, std::int64_t last, double mean,
                 double deviation);
};

struct RandomRoutines {
  RandomRoutinesOf<float> float32;
  RandomRoutinesOf<double> float64;
};

}  // namespace pando::cpu
