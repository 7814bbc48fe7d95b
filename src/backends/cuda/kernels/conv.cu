// SPDX-License-Identifier: Apache-2.0
// Convolutions as products of a factor that is not stored: the images as the taps of the filter read them. The result
// is [pixels, filters of a group] for each group; the gradient of the images [pixels, channels of a group]; that of the
// filter [taps and channels of a group, filters of a group], summed over all pixels.
#include "backends/cuda/kernels/product.cuh"
#include "backends/cuda/kernels/windows.h"

namespace pando::cuda {

namespace {

std::int64_t taps(const ConvolutionGeometry& geometry) {
  return static_cast<std::int64_t>(geometry.kernel[0]) * geometry.kernel[1];
}

template <class T>
std::unique_ptr<Kernel> make_convolution(const KernelCall& call, const KernelContext& context) {
  const char* const op = call.op->name.data();
  const Shape &x = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape, &y = call.outputs[0].type.shape;
  const ConvolutionGeometry geometry = convolution_geometry(call, x, filter, y);
  const ProductSizes sizes = {narrow(y.part(0, 3).elements(), op), geometry.group_filters(),
                              narrow(taps(geometry) * geometry.group_channels(), op), geometry.groups};
  return make_product<T>(op, ConvolutionSource<false>(geometry), by_groups(geometry), sizes,
                         {filter_starts(geometry), geometry.filters, -1, find_bias(call)}, context);
}

template <class T>
std::unique_ptr<Kernel> make_input_gradient(const KernelCall& call, const KernelContext& context) {
  const char* const op = call.op->name.data();
  const Shape &dy = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape, &dx = call.outputs[0].type.shape;
  const ConvolutionGeometry geometry = convolution_geometry(call, dx, filter, dy);
  const ProductSizes sizes = {narrow(dx.part(0, 3).elements(), op), geometry.group_channels(),
                              narrow(taps(geometry) * geometry.group_filters(), op), geometry.groups};
  return make_product<T>(op, GradientSource(geometry), TransposedFilter(geometry), sizes,
                         {channel_starts(geometry), geometry.channels}, context);
}

template <class T>
std::unique_ptr<Kernel> make_weight_gradient(const KernelCall& call, const KernelContext& context) {
  const char* const op = call.op->name.data();
  const Shape &x = call.inputs[0].type.shape, &dy = call.inputs[1].type.shape, &filter = call.outputs[0].type.shape;
  const ConvolutionGeometry geometry = convolution_geometry(call, x, filter, dy);
  const ProductSizes sizes = {narrow(taps(geometry) * geometry.group_channels(), op), geometry.group_filters(),
                              narrow(dy.part(0, 3).elements(), op), geometry.groups};
  return make_product<T>(op, ConvolutionSource<true>(geometry), by_groups(geometry), sizes,
                         {filter_starts(geometry), geometry.filters}, context);
}

bool is_double(const KernelCall& call) { return call.inputs[0].type.dtype == DType::float64; }

}  // namespace

std::unique_ptr<Kernel> factories::conv2d(const KernelCall& call, const KernelContext& context) {
  if (has_epilogue(call) && !(find_bias(call).found && call.attributes.integer("groups") == 1))
    return make_with_epilogue(call, context, conv2d);
  return is_double(call) ? make_convolution<double>(call, context) : make_convolution<float>(call, context);
}

std::unique_ptr<Kernel> factories::conv2d_input_gradient(const KernelCall& call, const KernelContext& context) {
  return is_double(call) ? make_input_gradient<double>(call, context) : make_input_gradient<float>(call, context);
}

std::unique_ptr<Kernel> factories::conv2d_weight_gradient(const KernelCall& call, const KernelContext& context) {
  return is_double(call) ? make_weight_gradient<double>(call, context) : make_weight_gradient<float>(call, context);
}

}  // namespace pando::cuda
