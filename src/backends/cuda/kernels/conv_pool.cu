// SPDX-License-Identifier: Apache-2.0
// conv2d_max_pool and its gradients without the result of the convolution, or its gradient, in memory. Forwards, a
// thread of a product has whole windows of 2 by 2 and writes their largest elements. Backwards, a product reads the
// gradient of the pooled images through the positions.
#include "backends/cuda/kernels/conv_pool.h"
#include "backends/cuda/kernels/pooled_factors.h"
#include "backends/cuda/kernels/product.cuh"
#include "backends/cuda/kernels/windows.h"

namespace pando::cuda {

namespace {

using FilterFactor = StoredFactor<false>;

// Inputs are the images and the filter, outputs the pooled images and the positions.
class ConvolutionWithPooling final : public Kernel {
 public:
  ConvolutionWithPooling(const PooledSource& source, const FilterFactor& filter, const ProductSizes& sizes,
                         const TileChoice& choice, const ResultLayout& layout)
      : source_(source),
        filter_(filter),
        sizes_(sizes),
        choice_(choice),
        in_fours_(source.in_fours(sizes.rows, sizes.depth) && filter.in_fours(sizes.columns, sizes.depth)),
        layout_(layout) {}

  void launch(const Operands& operands, cudaStream_t stream) const override {
    if (choice_.blocks == 0) return;
    PooledResult<float> result = {output<float>(operands, 0), output<std::uint8_t>(operands, 1), layout_.starts,
                                  layout_.row_step};
    if (layout_.bias.found) result.bias = {input<float>(operands, 2), layout_.bias.relu};
    with_tile(choice_.tile, [&]<class Tile>(Tile) {
      if constexpr (!requires { Tile::warp_rows; }) {
        if (in_fours_) multiply<Tile, 4>(operands, result, stream);
        else multiply<Tile, 1>(operands, result, stream);
      }
    });
    check_launch("conv2d_max_pool");
  }

 private:
  template <class Tile, int width>
  void multiply(const Operands& operands, const PooledResult<float>& result, cudaStream_t stream) const {
    multiply_tiles<float, Tile, ThreadTile<float, Tile>, width>
        <<<static_cast<unsigned>(choice_.blocks), Tile::threads, 0, stream>>>(
            source_, input<float>(operands, 0), filter_, input<float>(operands, 1), sizes_, 1, result);
  }

  PooledSource source_;
  FilterFactor filter_;
  ProductSizes sizes_;
  TileChoice choice_;
  bool in_fours_;
  ResultLayout layout_;
};

bool is_two_by_two(const Pooling& pooling) {
  for (int axis = 0; axis < 2; ++axis)
    if (pooling.kernel[axis] != 2 || pooling.strides[axis] != 2 || pooling.before[axis] != 0 ||
        pooling.after[axis] != 0)
      return false;
  return true;
}

// The convolution and the pooling of a call, or null if the kernel above is not made for it.
std::unique_ptr<Kernel> make_pooled(const KernelCall& call, const KernelContext& context) {
  const char* const op = call.op->name.data();
  const Shape &x = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape;
  const Shape convolved = convolved_shape(call, x, filter), &pooled = call.outputs.back().type.shape;
  const Pooling pooling = pooling_geometry(call, convolved, pooled, "pool_");
  if (call.inputs[0].type.dtype != DType::float32 || !is_two_by_two(pooling)) return nullptr;
  const ConvolutionGeometry geometry = convolution_geometry(call, x, filter, convolved);
  const ProductSizes sizes = {narrow(pooled.part(0, 3).elements() * 4, op), geometry.group_filters(),
                              narrow(filter.part(0, 3).elements(), op), geometry.groups};
  const TileChoice choice = choose_tiles(sizes, context.multiprocessors);
  if (choice.splits > 1 || (context.rounds_factors() && suits_mixed(sizes))) return nullptr;
  const PooledSource source(geometry, narrow(pooled[1], op), narrow(pooled[2], op));
  const ResultLayout layout = {filter_starts(geometry), geometry.filters, -1,
                               geometry.groups == 1 ? find_bias(call) : BiasEpilogue()};
  return std::make_unique<ConvolutionWithPooling>(source, by_groups(geometry), sizes, choice, layout);
}

// Whether the positions of a gradient are bytes and its numbers float32.
bool reads_through_positions(const KernelCall& call) {
  return call.inputs[0].type.dtype == DType::float32 && call.inputs[2].type.dtype == DType::uint8;
}

}  // namespace

std::unique_ptr<Kernel> factories::conv2d_max_pool(const KernelCall& call, const KernelContext& context) {
  std::unique_ptr<Kernel> kernel = make_pooled(call, context);
  if (kernel == nullptr) return conv2d_max_pool_sequence(call, context);
  const Type pooled = {call.inputs[0].type.dtype, call.outputs.back().type.shape};
  auto sequence = std::make_unique<Sequence>();
  const bool own_bias = find_bias(call).found && call.attributes.integer("groups") == 1;
  const bool separate = has_epilogue(call) && !own_bias;
  const Sequence::Place raw = separate ? sequence->passed_on(pooled) : Sequence::output(0);
  std::vector<Sequence::Place> inputs = {Sequence::input(0), Sequence::input(1)};
  if (own_bias) inputs.push_back(Sequence::input(2));
  sequence->add(std::move(kernel), std::move(inputs), {raw, Sequence::output(call.outputs.size() - 1)});
  if (separate) add_epilogue(*sequence, call, context, pooled, raw);
  return sequence;
}

std::unique_ptr<Kernel> factories::conv2d_max_pool_input_gradient(const KernelCall& call,
                                                                  const KernelContext& context) {
  if (!reads_through_positions(call)) return pooled_input_gradient_sequence(call, context);
  const char* const op = call.op->name.data();
  const Shape &dy = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape, &dx = call.outputs[0].type.shape;
  const Shape convolved = convolved_shape(call, dx, filter);
  const ConvolutionGeometry geometry = convolution_geometry(call, dx, filter, convolved);
  const Pooling pooling = pooling_geometry(call, convolved, dy, "pool_");
  const ProductSizes sizes = {narrow(dx.part(0, 3).elements(), op), geometry.channels,
                              narrow(filter.part(0, 2).elements() * filter[3], op), 1};
  return make_product<float>(op, PooledGradientSource(geometry, pooling), TransposedFilter(geometry), sizes,
                             {{}, geometry.channels}, context);
}

std::unique_ptr<Kernel> factories::conv2d_max_pool_weight_gradient(const KernelCall& call,
                                                                   const KernelContext& context) {
  if (!reads_through_positions(call)) return pooled_weight_gradient_sequence(call, context);
  const char* const op = call.op->name.data();
  const Shape &x = call.inputs[0].type.shape, &dy = call.inputs[1].type.shape, &filter = call.outputs[0].type.shape;
  const Shape convolved = convolved_shape(call, x, filter);
  const ConvolutionGeometry geometry = convolution_geometry(call, x, filter, convolved);
  const Pooling pooling = pooling_geometry(call, convolved, dy, "pool_");
  const ProductSizes sizes = {narrow(filter.part(0, 3).elements(), op), geometry.filters,
                              narrow(convolved.part(0, 3).elements(), op), 1};
  return make_product<float>(op, ConvolutionSource<true>(geometry), PooledGradientMatrix(geometry, pooling), sizes,
                             {{}, geometry.filters}, context);
}

}  // namespace pando::cuda
