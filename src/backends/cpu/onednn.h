// oneDNN: kernels for wide float32 convolutions. The only file pair that knows oneDNN's interface.
#pragma once
#include "backends/cpu/kernels.h"

namespace pando::cpu {

// Each gives a kernel, or null where our own is the better one; they throw Error if oneDNN fails. The environment
// variable PANDO_ONEDNN (always, never) overrules that judgement for what oneDNN can compute at all.
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
