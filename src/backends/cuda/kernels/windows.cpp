// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/windows.h"

#include "backends/cuda/kernels/narrow.h"
#include "ops/window.h"

namespace pando::cuda {

ConvolutionGeometry convolution_geometry(const KernelCall& call, const Shape& x, const Shape& filter, const Shape& y) {
  const char* const op = call.op->name.data();
  const Window window = conv_window(call.attributes, filter);
  ConvolutionGeometry geometry;
  geometry.height = narrow(x[1], op);
  geometry.width = narrow(x[2], op);
  geometry.channels = narrow(x[3], op);
  geometry.rows = narrow(y[1], op);
  geometry.columns = narrow(y[2], op);
  geometry.filters = narrow(y[3], op);
  geometry.groups = narrow(call.attributes.integer("groups"), op);
  for (std::size_t axis : {0, 1}) {
    geometry.strides[axis] = narrow(window.strides[axis], op);
    geometry.dilations[axis] = narrow(window.dilations[axis], op);
    geometry.before[axis] = narrow(window.before(axis), op);
    geometry.kernel[axis] = narrow(window.kernel[axis], op);
  }
  return geometry;
}

Pooling pooling_geometry(const KernelCall& call, const Shape& x, const Shape& y, const std::string& prefix) {
  const Window window = pool_window(call.attributes, prefix);
  Pooling pooling;
  pooling.images = x[0];
  pooling.channels = x[3];
  for (std::size_t axis : {0, 1}) {
    pooling.sizes[axis] = x[static_cast<int>(axis) + 1];
    pooling.pooled[axis] = y[static_cast<int>(axis) + 1];
    pooling.kernel[axis] = window.kernel[axis];
    pooling.strides[axis] = window.strides[axis];
    pooling.before[axis] = window.before(axis);
    pooling.after[axis] = window.after(axis);
  }
  return pooling;
}

}  // namespace pando::cuda
