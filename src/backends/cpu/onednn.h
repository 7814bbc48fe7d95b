// oneDNN: kernels for float32 convolutions. The only file pair that knows oneDNN's interface.
#pragma once
#include "backends/cpu/kernels.h"

namespace pando::cpu {

// Each gives a kernel if the environment variable PANDO_ONEDNN is "always" and oneDNN can compute the call, else null:
// our own kernels then do it. They throw Error if oneDNN fails.
#if defined(PANDO_WITH_ONEDNN)
std::unique_ptr<Kernel> onednn_conv2d(const KernelCall& call, const Routines& routines);
std::unique_ptr<Kernel> onednn_conv2d_input_gradient(const KernelCall& call);
std::unique_ptr<Kernel> onednn_conv2d_weight_gradient(const KernelCall& call);
#else
inline std::unique_ptr<Kernel> onednn_conv2d(const KernelCall&, const Routines&) { return nullptr; }
inline std::unique_ptr<Kernel> onednn_conv2d_input_gradient(const KernelCall&) { return nullptr; }
inline std::unique_ptr<Kernel> onednn_conv2d_weight_gradient(const KernelCall&) { return nullptr; }
#endif

}  // namespace pando::cpu
