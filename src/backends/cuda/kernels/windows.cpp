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
  const char* const op = call.op->name.data();
  const Window window = pool_window(call.attributes, prefix);
  narrow(x.elements(), op);
  narrow(y.elements(), op);
  Pooling pooling;
  pooling.images = narrow(x[0], op);
  pooling.channels = narrow(x[3], op);
  for (std::size_t axis : {0, 1}) {
    pooling.sizes[axis] = narrow(x[static_cast<int>(axis) + 1], op);
    pooling.pooled[axis] = narrow(y[static_cast<int>(axis) + 1], op);
    pooling.kernel[axis] = narrow(window.kernel[axis], op);
    pooling.strides[axis] = narrow(window.strides[axis], op);
    pooling.before[axis] = narrow(window.before(axis), op);
    pooling.after[axis] = narrow(window.after(axis), op);
  }
  pooling.prepare();
  return pooling;
}

}  // namespace pando::cuda
