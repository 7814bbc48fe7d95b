// SPDX-License-Identifier: Apache-2.0
// Totals that run along an axis. One tile computes a line, one element after the other. Sums and products of floats are
// held as float64, as in reductions.
#include "ops/cumulative.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "backends/cpu/kernels.h"
#include "ops/scalar.h"

namespace pando::cpu {

namespace {

// Tiles are given blocks of this many lines that are neighbours; up to `most_running` run side by side.
constexpr std::int64_t running_lines = 16, most_running = 256;

template <class T>
using WideTotal = std::conditional_t<std::is_floating_point_v<T>, double, T>;

template <class T, class Held, template <class> class Combine>
class CumulativeKernel final : public Kernel {
 public:
  explicit CumulativeKernel(const KernelCall& call)
      : x_(call.inputs[0]), out_(call.outputs[0]), axis_(x_.type.shape, call.attributes) {}

  void run(const Tile& tile) const override {
    if (out_.buffer < 0 || axis_.size == 0) return;
    const std::int64_t blocks = (axis_.inner + running_lines - 1) / running_lines;
    const Range own = share(tile, axis_.outer * blocks);
    for (std::int64_t block = own.begin; block < own.end;) {
      const std::int64_t outer = block / blocks, first = block % blocks;
      const std::int64_t last = std::min({blocks, first + own.end - block, first + most_running / running_lines});
      run_lines(tile, outer, {first * running_lines, std::min(last * running_lines, axis_.inner)});
      block += last - first;
    }
  }

 private:
  void run_lines(const Tile& tile, std::int64_t outer, Range lines) const {
    const Combine<Held> combine(nullptr);
    std::array<Held, most_running> totals;
    const std::int64_t step = axis_.reverse ? -axis_.inner : axis_.inner, count = lines.end - lines.begin;
    std::int64_t place = (outer * axis_.size + (axis_.reverse ? axis_.size - 1 : 0)) * axis_.inner + lines.begin;
    const T* const x = pointer<const T>(tile, x_);
    T* const out = pointer<T>(tile, out_);
    std::copy_n(x + place, count, totals.begin());
    std::copy_n(x + place, count, out + place);
    for (std::int64_t i = 1; i < axis_.size; ++i) {
      place += step;
      for (std::int64_t line = 0; line < count; ++line) {
        Held& total = totals[static_cast<std::size_t>(line)];
        total = combine(total, static_cast<Held>(x[place + line]));
        out[place + line] = static_cast<T>(total);
      }
    }
  }

  Operand x_, out_;
  RunningAxis axis_;
};

template <template <class> class Combine, bool is_wide>
std::unique_ptr<Kernel> running(const KernelCall& call) {
  const auto make = [&]<class T>(T) -> std::unique_ptr<Kernel> {
    return std::make_unique<CumulativeKernel<T, std::conditional_t<is_wide, WideTotal<T>, T>, Combine>>(call);
  };
  switch (const DType dtype = call.inputs[0].type.dtype) {
    case DType::float32: return make(float{});
    case DType::float64: return make(double{});
    case DType::int32: return make(std::int32_t{});
    case DType::int64: return make(std::int64_t{});
    default: throw InternalError("the CPU has no running totals of " + std::string(name(dtype)));
  }
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> cumulative(const KernelCall& call, const Routines&) {
  switch (cumulative_mode_named(call.attributes.text("mode"))) {
    case ops::CumulativeMode::add: return running<scalar::add, true>(call);
    case ops::CumulativeMode::multiply: return running<scalar::multiply, true>(call);
    case ops::CumulativeMode::maximum: return running<scalar::maximum, false>(call);
    case ops::CumulativeMode::minimum: return running<scalar::minimum, false>(call);
  }
  throw InternalError("cumulative has another mode");
}

}  // namespace factories

}  // namespace pando::cpu
