// SPDX-License-Identifier: Apache-2.0
// Weight updates as functions of one element. A rule first works out its settings from the rate and the step, then
// moves elements. Kernels that are compiled when a program is loaded include this file too.
#pragma once
#include <math.h>

#include <cstdint>

#include "base/host_device.h"

namespace pando::cuda {

// The memory of a group: the parameter, its gradient, then the states; new values, of which some may be null.
constexpr int most_inputs = 5, most_outputs = 4;
template <class T>
struct Group {
  const T* in[most_inputs] = {};
  T* out[most_outputs] = {};
  std::int64_t elements = 0;

  PANDO_HOST_DEVICE void write(int output, std::int64_t i, T value) const {
    if (out[output] != nullptr) out[output][i] = value;
  }
};

struct Sgd {
  double momentum, decay;
  bool nesterov, rate_in_velocity;

  // gradient += decay * parameter; velocity = momentum * velocity + gain * gradient;
  // parameter += direct * gradient + glide * velocity. Without velocity only `direct` moves the parameter.
  template <class T>
  struct Settings {
    T decay, momentum, gain, direct, glide;
    bool has_velocity;
  };
  template <class T>
  PANDO_HOST_DEVICE Settings<T> prepare(double rate, double) const {
    // How a step uses the velocity: as it is, or after one more step of momentum, together with the gradient.
    const double reach = nesterov ? momentum : 1.0;
    return {T(decay),
            T(momentum),
            T(rate_in_velocity ? -rate : 1.0),
            T(nesterov || momentum == 0 ? -rate : 0.0),
            T(rate_in_velocity ? reach : -rate * reach),
            momentum != 0};
  }
  template <class T>
  static PANDO_HOST_DEVICE void move(const Settings<T>& s, const Group<T>& group, std::int64_t i, T gradient) {
    const T p = group.in[0][i], g = gradient + s.decay * p;
    if (!s.has_velocity) return group.write(0, i, p + s.direct * g);
    const T v = s.momentum * group.in[2][i] + s.gain * g;
    group.write(1, i, v);
    group.write(0, i, p + (s.direct * g + s.glide * v));
  }
};

struct Adam {
  double beta1, beta2, epsilon, decay;
  bool decoupled, after_correction;

  template <class T>
  struct Settings {
    T decay, shrink, beta1, beta2, rest1, rest2, rate, root_scale, epsilon;
  };
  template <class T>
  PANDO_HOST_DEVICE Settings<T> prepare(double rate, double step) const {
    const double t = step + 1.0;
    const double correction = 1 - pow(beta1, t), root = sqrt(1 - pow(beta2, t));
    return {T(decoupled ? 0.0 : decay),
            T(decoupled ? 1 - rate * decay : 1.0),
            T(beta1),
            T(beta2),
            T(1 - beta1),
            T(1 - beta2),
            T((after_correction ? rate : rate * root) / correction),
            T(after_correction ? 1 / root : 1.0),
            T(epsilon)};
  }
  template <class T>
  static PANDO_HOST_DEVICE void move(const Settings<T>& s, const Group<T>& group, std::int64_t i, T gradient) {
    const T p = group.in[0][i], g = gradient + s.decay * p;
    const T m = s.beta1 * group.in[2][i] + s.rest1 * g;
    const T v = s.beta2 * group.in[3][i] + s.rest2 * g * g;
    group.write(1, i, m);
    group.write(2, i, v);
    group.write(0, i, p * s.shrink - s.rate * m / (sqrt(v) * s.root_scale + s.epsilon));
  }
};

struct Rmsprop {
  double rho, momentum, inside, outside;
  bool centered, rate_in_velocity;

  template <class T>
  struct Settings {
    T rho, complement, momentum, inside, outside, gain, rate;
    bool has_velocity, centered;
  };
  template <class T>
  PANDO_HOST_DEVICE Settings<T> prepare(double rate, double) const {
    const bool gains = momentum != 0 && rate_in_velocity;
    return {T(rho),        T(1 - rho), T(momentum), T(inside), T(outside), T(gains ? rate : 1.0), T(gains ? 1.0 : rate),
            momentum != 0, centered};
  }
  template <class T>
  static PANDO_HOST_DEVICE void move(const Settings<T>& s, const Group<T>& group, std::int64_t i, T gradient) {
    const T p = group.in[0][i], g = gradient;
    const T square = s.rho * group.in[2][i] + s.complement * g * g;
    group.write(1, i, square);
    T variance = square;
    if (s.centered) {
      const int mean_at = s.has_velocity ? 3 : 2;
      const T m = s.rho * group.in[mean_at + 1][i] + s.complement * g;
      group.write(mean_at, i, m);
      // Rounding may take a variance of 0 below it.
      variance = square < m * m ? T(0) : square - m * m;
    }
    const T step = g / (sqrt(variance + s.inside) + s.outside);
    if (!s.has_velocity) return group.write(0, i, p - s.rate * step);
    const T v = s.momentum * group.in[3][i] + s.gain * step;
    group.write(2, i, v);
    group.write(0, i, p - s.rate * v);
  }
};

struct Adagrad {
  double inside, outside;

  template <class T>
  struct Settings {
    T inside, outside, rate;
  };
  template <class T>
  PANDO_HOST_DEVICE Settings<T> prepare(double rate, double) const {
    return {T(inside), T(outside), T(rate)};
  }
  template <class T>
  static PANDO_HOST_DEVICE void move(const Settings<T>& s, const Group<T>& group, std::int64_t i, T gradient) {
    const T g = gradient, sum = group.in[2][i] + g * g;
    const T p = group.in[0][i];
    group.write(1, i, sum);
    group.write(0, i, p - s.rate * g / (sqrt(sum + s.inside) + s.outside));
  }
};

}  // namespace pando::cuda
