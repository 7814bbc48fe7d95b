// SPDX-License-Identifier: Apache-2.0
// Images as planes, one for each channel: the inner loops of convolutions with few filters. A vector holds pixels side
// by side; vectors of channels would be at least half empty.
#pragma once
#include <cstdint>

namespace pando::cpu {

// For f < filters and i < vectors * lanes:
//   sums[f * sums_step + i] = sum over k < products of x[offsets[k] + i] * filter[k * filters + f]
// With `accumulate` the sum is added to `sums`. Each element is summed in the order of k.
template <class T>
struct PlaneSums {
  const T* x = nullptr;
  const std::int64_t* offsets = nullptr;
  const T* filter = nullptr;
  std::int64_t products = 0;
  std::int64_t filters = 0, vectors = 0;
  T* sums = nullptr;
  std::int64_t sums_step = 0;
  bool accumulate = false;
};

template <class T>
struct PlaneRoutinesOf {
  std::int64_t lanes;
  // The most filters of PlaneSums, and the most channels of the two functions below.
  std::int64_t most_filters;
  void (*sum)(const PlaneSums<T>& sums);
  // planes[c * plane_step + p] = pixels[p * pixel_step + c] for c < channels and p < count, and zeros after them up to
  // the next whole vector. Overwrites as many planes as the next power of two has. `room` holds count + lanes pixels of
  // that many.
  void (*split)(const T* pixels, std::int64_t pixel_step, std::int64_t channels, std::int64_t count, T* planes,
                std::int64_t plane_step, T* room);
  // The reverse, to pixels without room between them. Reads up to a vector after each plane.
  void (*join)(const T* planes, std::int64_t plane_step, std::int64_t channels, std::int64_t count, T* pixels);
};

struct PlaneRoutines {
  PlaneRoutinesOf<float> float32;
  PlaneRoutinesOf<double> float64;
};

}  // namespace pando::cpu
