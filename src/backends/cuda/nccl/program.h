// SPDX-License-Identifier: Apache-2.0
// What programs say about NCCL. Needs no header of CUDA.
#pragma once
#include <string>

namespace pando::cuda {

// Why it cannot be used, with the remedy; empty if it can.
std::string why_no_nccl();
// "2.28.3".
std::string version_of_nccl();

}  // namespace pando::cuda
