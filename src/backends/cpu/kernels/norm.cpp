// Batch normalisation, shared by channels, and layer normalisation, shared by rows.
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

template <class Make>
std::unique_ptr<Kernel> for_dtype(const KernelCall& call, const Routines& routines, Make make) {
  if (call.inputs[0].type.dtype == DType::float64) return make(routines.normalise.float64);
  return make(routines.normalise.float32);
}

// All of x[samples, places..., channels].
ChannelBlock block_of(const Shape& x) {
  const int last = x.rank() - 1;
  return {.samples = x[0], .places = x.part(1, last).elements(), .channels = x[last], .first = 0, .last = x[last]};
}

template <class T>
std::unique_ptr<Kernel> make_batch_norm(const KernelCall& call, const NormaliseRoutinesOf<T>& of) {
  const double epsilon = call.attributes.number("epsilon");
  return make_kernel([in = call.inputs, out = call.outputs, all = block_of(call.inputs[0].type.shape), epsilon,
                      routine = of.batch_norm](const Tile& tile) {
    const Range range = share_channels(tile, all.channels);
    const BatchNormArguments<T> arguments = {
        .x = find<const T>(tile, in, 0), .scale = find<const T>(tile, in, 1), .offset = find<const T>(tile, in, 2),
        .weights = find<const T>(tile, in, 3), .y = find<T>(tile, out, 0), .mean = find<T>(tile, out, 1),
        .variance = find<T>(tile, out, 2), .inverse_deviation = find<T>(tile, out, 3), .epsilon = epsilon};
    routine(arguments, {all.samples, all.places, all.channels, range.begin, range.end});
  });
}

template <class T>
std::unique_ptr<Kernel> make_batch_norm_gradient(const KernelCall& call, const NormaliseRoutinesOf<T>& of) {
  return make_kernel([in = call.inputs, out = call.outputs, all = block_of(call.inputs[1].type.shape),
                      routine = of.batch_norm_gradient](const Tile& tile) {
    const Range range = share_channels(tile, all.channels);
    const BatchNormGradientArguments<T> arguments = {
        .dy = find<const T>(tile, in, 0), .x = find<const T>(tile, in, 1), .scale = find<const T>(tile, in, 2),
        .mean = find<const T>(tile, in, 3), .inverse_deviation = find<const T>(tile, in, 4),
        .weights = find<const T>(tile, in, 5), .dx = find<T>(tile, out, 0), .dscale = find<T>(tile, out, 1),
        .doffset = find<T>(tile, out, 2)};
    routine(arguments, {all.samples, all.places, all.channels, range.begin, range.end});
  });
}

struct Matrix {
  std::int64_t rows, columns;
};

Matrix matrix_of(const Shape& x) {
  const int last = x.rank() - 1;
  return {x.part(0, last).elements(), x[last]};
}

template <class T>
std::unique_ptr<Kernel> make_layer_norm(const KernelCall& call, const NormaliseRoutinesOf<T>& of) {
  const double epsilon = call.attributes.number("epsilon");
  return make_kernel([in = call.inputs, out = call.outputs, x = matrix_of(call.inputs[0].type.shape), epsilon,
                      routine = of.layer_norm](const Tile& tile) {
    const Range range = share(tile, x.rows);
    const LayerNormArguments<T> arguments = {
        .x = find<const T>(tile, in, 0), .scale = find<const T>(tile, in, 1), .offset = find<const T>(tile, in, 2),
        .y = find<T>(tile, out, 0), .mean = find<T>(tile, out, 1), .inverse_deviation = find<T>(tile, out, 2),
        .epsilon = epsilon};
    routine(arguments, x.columns, range.begin, range.end);
  });
}

template <class T>
std::unique_ptr<Kernel> make_layer_norm_gradient(const KernelCall& call, const NormaliseRoutinesOf<T>& of) {
  return make_kernel([in = call.inputs, out = call.outputs, x = matrix_of(call.inputs[1].type.shape),
                      by_rows = of.layer_norm_gradient_rows,
                      by_columns = of.layer_norm_gradient_columns](const Tile& tile) {
    const LayerNormGradientArguments<T> arguments = {
        .dy = find<const T>(tile, in, 0), .x = find<const T>(tile, in, 1), .scale = find<const T>(tile, in, 2),
        .mean = find<const T>(tile, in, 3), .inverse_deviation = find<const T>(tile, in, 4),
        .dx = find<T>(tile, out, 0), .dscale = find<T>(tile, out, 1), .doffset = find<T>(tile, out, 2)};
    const Range rows = share(tile, x.rows), columns = share_channels(tile, x.columns);
    if (arguments.dx != nullptr) by_rows(arguments, x.columns, rows.begin, rows.end);
    if (arguments.dscale != nullptr || arguments.doffset != nullptr)
      by_columns(arguments, x.rows, x.columns, columns.begin, columns.end);
  });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> batch_norm(const KernelCall& call, const Routines& routines) {
  return for_dtype(call, routines, [&](const auto& of) { return make_batch_norm(call, of); });
}
std::unique_ptr<Kernel> batch_norm_gradient(const KernelCall& call, const Routines& routines) {
  return for_dtype(call, routines, [&](const auto& of) { return make_batch_norm_gradient(call, of); });
}
std::unique_ptr<Kernel> layer_norm(const KernelCall& call, const Routines& routines) {
  return for_dtype(call, routines, [&](const auto& of) { return make_layer_norm(call, of); });
}
std::unique_ptr<Kernel> layer_norm_gradient(const KernelCall& call, const Routines& routines) {
  return for_dtype(call, routines, [&](const auto& of) { return make_layer_norm_gradient(call, of); });
}

}  // namespace factories

}  // namespace pando::cpu
