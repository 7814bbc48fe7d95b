// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, shared by channels, and layer normalisation, shared by rows.
#include <algorithm>

#include "backends/cpu/kernels.h"

namespace pando::cpu {

namespace {

constexpr std::int64_t channels_per_block = 16;

// A range of channels on the bounds that the routines ask for.
Range share_channels(const Tile& tile, std::int64_t channels) {
  const Range blocks = share(tile, (channels + channels_per_block - 1) / channels_per_block);
  return {blocks.begin * channels_per_block, std::min(blocks.end * channels_per_block, channels)};
}

// Operand `number` of a list, or null if it is missing or not wanted.
template <class T>
T* find(const Tile& tile, const std::vector<Operand>& operands, std::size_t number) {
  if (number >= operands.size() || operands[number].buffer < 0) return nullptr;
  return pointer<T>(tile, operands[number]);
}

// x[samples, places..., channels].
struct Batch {
  std::int64_t samples, places, channels;

  explicit Batch(const Shape& x)
      : samples(x[0]), places(x.part(1, x.rank() - 1).elements()), channels(x[x.rank() - 1]) {}

  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(channels + channels_per_block) * 4 * sizeof(double);
  }
  // This tile's channels.
  ChannelBlock block(const Tile& tile) const {
    const Range range = share_channels(tile, channels);
    return {samples, places, channels, range.begin, range.end, reinterpret_cast<double*>(tile.scratch)};
  }
};

template <class T>
std::unique_ptr<Kernel> make_batch_norm(const KernelCall& call, const NormRoutinesOf<T>& of) {
  const double epsilon = call.attributes.number("epsilon");
  const Batch batch(call.inputs[0].type.shape);
  const auto run = [in = call.inputs, out = call.outputs, batch, epsilon, routine = of.batch_norm](const Tile& tile) {
    const BatchNormArguments<T> arguments = {.x = find<const T>(tile, in, 0),
                                             .scale = find<const T>(tile, in, 1),
                                             .offset = find<const T>(tile, in, 2),
                                             .weights = find<const T>(tile, in, 3),
                                             .y = find<T>(tile, out, 0),
                                             .mean = find<T>(tile, out, 1),
                                             .variance = find<T>(tile, out, 2),
                                             .inverse_deviation = find<T>(tile, out, 3),
                                             .epsilon = epsilon};
    routine(arguments, batch.block(tile));
  };
  return make_kernel(run, batch.scratch_bytes());
}

template <class T>
std::unique_ptr<Kernel> make_batch_norm_gradient(const KernelCall& call, const NormRoutinesOf<T>& of) {
  const Batch batch(call.inputs[1].type.shape);
  const auto run = [in = call.inputs, out = call.outputs, batch, routine = of.batch_norm_gradient](const Tile& tile) {
    const BatchNormGradientArguments<T> arguments = {.dy = find<const T>(tile, in, 0),
                                                     .x = find<const T>(tile, in, 1),
                                                     .scale = find<const T>(tile, in, 2),
                                                     .mean = find<const T>(tile, in, 3),
                                                     .inverse_deviation = find<const T>(tile, in, 4),
                                                     .weights = find<const T>(tile, in, 5),
                                                     .dx = find<T>(tile, out, 0),
                                                     .dscale = find<T>(tile, out, 1),
                                                     .doffset = find<T>(tile, out, 2)};
    routine(arguments, batch.block(tile));
  };
  return make_kernel(run, batch.scratch_bytes());
}

struct Matrix {
  std::int64_t rows, columns;
};

Matrix matrix_of(const Shape& x) {
  const int last = x.rank() - 1;
  return {x.part(0, last).elements(), x[last]};
}

template <class T>
std::unique_ptr<Kernel> make_layer_norm(const KernelCall& call, const NormRoutinesOf<T>& of) {
  const double epsilon = call.attributes.number("epsilon");
  return make_kernel([in = call.inputs, out = call.outputs, x = matrix_of(call.inputs[0].type.shape), epsilon,
                      routine = of.layer_norm](const Tile& tile) {
    const Range range = share(tile, x.rows);
    const LayerNormArguments<T> arguments = {.x = find<const T>(tile, in, 0),
                                             .scale = find<const T>(tile, in, 1),
                                             .offset = find<const T>(tile, in, 2),
                                             .y = find<T>(tile, out, 0),
                                             .mean = find<T>(tile, out, 1),
                                             .inverse_deviation = find<T>(tile, out, 2),
                                             .epsilon = epsilon};
    routine(arguments, x.columns, range.begin, range.end);
  });
}

template <class T>
std::unique_ptr<Kernel> make_layer_norm_gradient(const KernelCall& call, const NormRoutinesOf<T>& of) {
  return make_kernel([in = call.inputs, out = call.outputs, x = matrix_of(call.inputs[1].type.shape),
                      by_rows = of.layer_norm_gradient_rows,
                      by_columns = of.layer_norm_gradient_columns](const Tile& tile) {
    const LayerNormGradientArguments<T> arguments = {.dy = find<const T>(tile, in, 0),
                                                     .x = find<const T>(tile, in, 1),
                                                     .scale = find<const T>(tile, in, 2),
                                                     .mean = find<const T>(tile, in, 3),
                                                     .inverse_deviation = find<const T>(tile, in, 4),
                                                     .dx = find<T>(tile, out, 0),
                                                     .dscale = find<T>(tile, out, 1),
                                                     .doffset = find<T>(tile, out, 2)};
    const Range rows = share(tile, x.rows), columns = share_channels(tile, x.columns);
    if (arguments.dx != nullptr) by_rows(arguments, x.columns, rows.begin, rows.end);
    if (arguments.dscale != nullptr || arguments.doffset != nullptr)
      by_columns(arguments, x.rows, x.columns, columns.begin, columns.end);
  });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> batch_norm(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.norm, [&](const auto& of) { return make_batch_norm(call, of); });
}
std::unique_ptr<Kernel> batch_norm_gradient(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.norm,
                   [&](const auto& of) { return make_batch_norm_gradient(call, of); });
}
std::unique_ptr<Kernel> layer_norm(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.norm, [&](const auto& of) { return make_layer_norm(call, of); });
}
std::unique_ptr<Kernel> layer_norm_gradient(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.norm,
                   [&](const auto& of) { return make_layer_norm_gradient(call, of); });
}

}  // namespace factories

}  // namespace pando::cpu
