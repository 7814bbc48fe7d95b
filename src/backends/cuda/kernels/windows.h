// SPDX-License-Identifier: Apache-2.0
// The geometry of convolutions and poolings, from the attributes of a call to plain numbers.
#pragma once
#include <string>

#include "backends/cuda/kernels/factors.h"
#include "backends/cuda/kernels/pooling.h"
#include "plan/plan.h"

namespace pando::cuda {

// From the shapes of the images, the filter and the result. Throws Error if a size is too large.
ConvolutionGeometry convolution_geometry(const KernelCall& call, const Shape& x, const Shape& filter, const Shape& y);
// From the shapes of the images and the pooled images; `prefix` is "pool_" for conv2d_max_pool.
Pooling pooling_geometry(const KernelCall& call, const Shape& x, const Shape& y, const std::string& prefix = "");

}  // namespace pando::cuda
