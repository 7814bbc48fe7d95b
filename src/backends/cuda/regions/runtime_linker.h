// SPDX-License-Identifier: Apache-2.0
// Links what NVRTC compiled apart, with nvJitLink of the CUDA toolkit.
#pragma once
#include <string>
#include <vector>

namespace pando::cuda {

// Whether there is a linker that knows what NVRTC of this version makes.
bool has_linker(int nvrtc_major, int nvrtc_minor);
// The bytes of the kernel. Throws InternalError with the linker's messages.
std::string link(const std::vector<std::string>& parts, int architecture);

}  // namespace pando::cuda
