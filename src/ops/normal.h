// SPDX-License-Identifier: Apache-2.0
// Two normal numbers from two uniform ones, by Box and Muller: what the CPU and the CUDA backend share.
#pragma once
#include "base/host_device.h"
#include "base/philox.h"
#include "ops/scalar.h"

namespace pando::scalar {
PANDO_KERNEL_BEGIN

// sin and cos of a full turn times u, 0 <= u < 1.
PANDO_HOST_DEVICE inline void sine_and_cosine(double u, double& sine, double& cosine) {
  sine = math::sin(6.283185307179586 * u);
  cosine = math::cos(6.283185307179586 * u);
}
PANDO_HOST_DEVICE inline void sine_and_cosine(float u, float& sine, float& cosine) {
  // The nearest quarter turn is taken away without rounding; what is left lies within an eighth of a turn.
  const auto quarter = static_cast<std::int32_t>(u * 4.0f + 0.5f);
  const float x = (u - static_cast<float>(quarter) * 0.25f) * 6.2831853072f, s = x * x;
  const float near_sine = x + x * s * (-1.6666654611e-1f + s * (8.3321608736e-3f - s * 1.9515295891e-4f));
  const float near_cosine =
      1.0f - 0.5f * s + s * s * (4.166664568298827e-2f + s * (-1.388731625493765e-3f + s * 2.443315711809948e-5f));
  const bool swap = (quarter & 1) != 0;
  const float at_sine = swap ? near_cosine : near_sine, at_cosine = swap ? near_sine : near_cosine;
  sine = (quarter & 2) != 0 ? -at_sine : at_sine;
  cosine = ((quarter + 1) & 2) != 0 ? -at_cosine : at_cosine;
}

// The numbers that the words `first` and `second` of Philox stand for.
template <class T>
PANDO_HOST_DEVICE inline void normal_pair(std::uint32_t first, std::uint32_t second, T mean, T deviation, T* values) {
  // In (0, 1], so that the logarithm is finite.
  const T u = T(1.0f - philox::uniform(first)), turn = T(philox::uniform(second));
  const T radius = deviation * math::sqrt(T(-2) * math::log(u));
  T sine, cosine;
  sine_and_cosine(turn, sine, cosine);
  values[0] = mean + radius * cosine;
  values[1] = mean + radius * sine;
}

PANDO_KERNEL_END
}  // namespace pando::scalar
