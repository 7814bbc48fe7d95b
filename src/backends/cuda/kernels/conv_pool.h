// SPDX-License-Identifier: Apache-2.0
// conv2d_max_pool and its gradients as sequences of the kernels of convolution and of pooling, for all that the kernels
// in conv_pool.cu leave out.
#pragma once
#include "backends/cuda/kernels/sequence.h"

namespace pando::cuda {

// What conv2d makes of images and a filter of these shapes.
Shape convolved_shape(const KernelCall& call, const Shape& x, const Shape& filter);

std::unique_ptr<Kernel> conv2d_max_pool_sequence(const KernelCall& call, const KernelContext& context);
std::unique_ptr<Kernel> pooled_input_gradient_sequence(const KernelCall& call, const KernelContext& context);
std::unique_ptr<Kernel> pooled_weight_gradient_sequence(const KernelCall& call, const KernelContext& context);

}  // namespace pando::cuda
