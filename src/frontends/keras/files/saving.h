// SPDX-License-Identifier: Apache-2.0
// Files of weights: a .safetensors file if the path ends so, otherwise an .npz file.
#pragma once
#include <string>

namespace pando::keras {

// Throws Error for names that promise a file of Keras, which is not written. `who` begins the message.
void check_weights_path(const std::string& who, const std::string& path);

}  // namespace pando::keras
