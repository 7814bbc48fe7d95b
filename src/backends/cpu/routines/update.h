// SPDX-License-Identifier: Apache-2.0
// Weight updates over contiguous elements of one parameter and its states.
#pragma once
#include <cstdint>

namespace pando::cpu {

// `in` holds the parameter, its gradient, then the states; `out` the parameter, then the states, each of which may be
// the memory of the input it replaces. `settings` is the struct of the update.
using UpdateRoutine = void (*)(void* const* out, const void* const* in, std::int64_t count, const void* settings);

// gradient += decay * parameter; velocity = momentum * velocity + gain * gradient;
// parameter += direct * gradient + glide * velocity. Without velocity only `direct` moves the parameter.
struct SgdSettings {
  double decay, momentum, gain, direct, glide;
};

// gradient += decay * parameter; the parameter shrinks, then moves by
// -rate * first / (sqrt(second) * root_scale + epsilon), first and second being the new moments.
struct AdamSettings {
  double decay, shrink, beta1, beta2, rate, root_scale, epsilon;
};

// move = gradient / (sqrt(mean square + inside) + outside); parameter -= rate * move. With a velocity:
// velocity = momentum * velocity + gain * move; parameter -= rate * velocity. Adagrad has no rho, and a sum of squares
// instead of the mean.
struct RmspropSettings {
  double rho, momentum, inside, outside, gain, rate;
};

struct UpdatesOf {
  UpdateRoutine sgd, sgd_momentum, adam, adagrad;
  // By whether there is a velocity and whether it is centered.
  UpdateRoutine rmsprop[2][2];
};

struct UpdateRoutines {
  UpdatesOf float32, float64;
};

}  // namespace pando::cpu
