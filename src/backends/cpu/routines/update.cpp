// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/update.h"

#include "backends/cpu/routines/vector.h"
#include "ops/scalar.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

constexpr std::int64_t chunk = 16;

// Runs a rule over multiples of 16 elements, all in vectors, and over the last ones padded to 16: every element goes
// through the same code (hence no inlining) wherever a tile begins. There is one more input than outputs, the gradient.
template <class T, class Rule>
void sweep(void* const* out_memory, const void* const* in_memory, std::int64_t count, const void* settings) {
  const Rule rule(*static_cast<const typename Rule::Settings*>(settings));
  constexpr int outputs = Rule::outputs, inputs = outputs + 1;
  T* out[outputs];
  const T* in[inputs];
  for (int k = 0; k < outputs; ++k) out[k] = static_cast<T*>(out_memory[k]);
  for (int k = 0; k < inputs; ++k) in[k] = static_cast<const T*>(in_memory[k]);
  const std::int64_t whole = count / chunk * chunk, rest = count - whole;
  rule.step(out, in, whole);
  if (rest == 0) return;
  T padded[inputs][chunk] = {}, results[outputs][chunk];
  const T* padded_in[inputs];
  T* padded_out[outputs];
  for (int k = 0; k < outputs; ++k) padded_out[k] = results[k];
  for (int k = 0; k < inputs; ++k) {
    padded_in[k] = padded[k];
    for (std::int64_t i = 0; i < rest; ++i) padded[k][i] = in[k][whole + i];
  }
  rule.step(padded_out, padded_in, chunk);
  for (int k = 0; k < outputs; ++k)
    for (std::int64_t i = 0; i < rest; ++i) out[k][whole + i] = results[k][i];
}

template <class T, bool has_velocity>
struct Sgd {
  using Settings = SgdSettings;
  static constexpr int outputs = has_velocity ? 2 : 1;
  T decay, momentum, gain, direct, glide;

  explicit Sgd(const Settings& s)
      : decay(T(s.decay)), momentum(T(s.momentum)), gain(T(s.gain)), direct(T(s.direct)), glide(T(s.glide)) {}

  [[gnu::noinline]] void step(T* const* out, const T* const* in, std::int64_t count) const {
    T* new_parameter = out[0];
    const T *parameter = in[0], *gradient = in[1];
    if constexpr (has_velocity) {
      T* new_velocity = out[1];
      const T* velocity = in[2];
      PANDO_VECTORISE
      for (std::int64_t i = 0; i < count; ++i) {
        const T p = parameter[i], g = gradient[i] + decay * p;
        const T v = momentum * velocity[i] + gain * g;
        new_velocity[i] = v;
        new_parameter[i] = p + (direct * g + glide * v);
      }
    } else {
      PANDO_VECTORISE
      for (std::int64_t i = 0; i < count; ++i) {
        const T p = parameter[i];
        new_parameter[i] = p + direct * (gradient[i] + decay * p);
      }
    }
  }
};

template <class T>
struct Adam {
  using Settings = AdamSettings;
  static constexpr int outputs = 3;
  T decay, shrink, beta1, beta2, rest1, rest2, rate, root_scale, epsilon;

  explicit Adam(const Settings& s)
      : decay(T(s.decay)),
        shrink(T(s.shrink)),
        beta1(T(s.beta1)),
        beta2(T(s.beta2)),
        rest1(T(1 - s.beta1)),
        rest2(T(1 - s.beta2)),
        rate(T(s.rate)),
        root_scale(T(s.root_scale)),
        epsilon(T(s.epsilon)) {}

  [[gnu::noinline]] void step(T* const* out, const T* const* in, std::int64_t count) const {
    T *new_parameter = out[0], *new_mean = out[1], *new_square = out[2];
    const T *parameter = in[0], *gradient = in[1], *mean = in[2], *square = in[3];
    PANDO_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) {
      const T p = parameter[i], g = gradient[i] + decay * p;
      const T m = beta1 * mean[i] + rest1 * g;
      const T v = beta2 * square[i] + rest2 * g * g;
      new_mean[i] = m;
      new_square[i] = v;
      new_parameter[i] = p * shrink - rate * m / (scalar::math::sqrt(v) * root_scale + epsilon);
    }
  }
};

template <class T, bool has_velocity, bool centered>
struct Rmsprop {
  using Settings = RmspropSettings;
  static constexpr int outputs = 2 + has_velocity + centered;
  T rho, complement, momentum, inside, outside, gain, rate;

  explicit Rmsprop(const Settings& s)
      : rho(T(s.rho)),
        complement(T(1 - s.rho)),
        momentum(T(s.momentum)),
        inside(T(s.inside)),
        outside(T(s.outside)),
        gain(T(s.gain)),
        rate(T(s.rate)) {}

  [[gnu::noinline]] void step(T* const* out, const T* const* in, std::int64_t count) const {
    constexpr int velocity_at = 2, mean_at = 2 + has_velocity;
    T *new_parameter = out[0], *new_square = out[1];
    T* new_velocity = has_velocity ? out[velocity_at] : nullptr;
    T* new_mean = centered ? out[mean_at] : nullptr;
    const T *parameter = in[0], *gradient = in[1], *square = in[2];
    const T* velocity = has_velocity ? in[velocity_at + 1] : nullptr;
    const T* mean = centered ? in[mean_at + 1] : nullptr;
    PANDO_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) {
      const T p = parameter[i], g = gradient[i];
      const T s = rho * square[i] + complement * g * g;
      new_square[i] = s;
      T variance = s;
      if constexpr (centered) {
        const T m = rho * mean[i] + complement * g;
        new_mean[i] = m;
        // Rounding may take a variance of 0 below it.
        variance = s < m * m ? T(0) : s - m * m;
      }
      const T move = g / (scalar::math::sqrt(variance + inside) + outside);
      if constexpr (has_velocity) {
        const T v = momentum * velocity[i] + gain * move;
        new_velocity[i] = v;
        new_parameter[i] = p - rate * v;
      } else {
        new_parameter[i] = p - rate * move;
      }
    }
  }
};

template <class T>
struct Adagrad {
  using Settings = RmspropSettings;
  static constexpr int outputs = 2;
  T inside, outside, rate;

  explicit Adagrad(const Settings& s) : inside(T(s.inside)), outside(T(s.outside)), rate(T(s.rate)) {}

  [[gnu::noinline]] void step(T* const* out, const T* const* in, std::int64_t count) const {
    T *new_parameter = out[0], *new_sum = out[1];
    const T *parameter = in[0], *gradient = in[1], *sum = in[2];
    PANDO_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) {
      const T g = gradient[i], s = sum[i] + g * g;
      const T p = parameter[i];
      new_sum[i] = s;
      new_parameter[i] = p - rate * g / (scalar::math::sqrt(s + inside) + outside);
    }
  }
};

template <class T>
constexpr UpdatesOf updates = {
    .sgd = sweep<T, Sgd<T, false>>,
    .sgd_momentum = sweep<T, Sgd<T, true>>,
    .adam = sweep<T, Adam<T>>,
    .adagrad = sweep<T, Adagrad<T>>,
    .rmsprop = {{sweep<T, Rmsprop<T, false, false>>, sweep<T, Rmsprop<T, false, true>>},
                {sweep<T, Rmsprop<T, true, false>>, sweep<T, Rmsprop<T, true, true>>}},
};

}  // namespace

void fill(UpdateRoutines& table) { table = {.float32 = updates<float>, .float64 = updates<double>}; }

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
