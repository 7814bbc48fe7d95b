// SPDX-License-Identifier: Apache-2.0
// Errors and messages of the library name what a C++ program writes; Python users read what they would write.
#pragma once
#include <string>
#include <string_view>

namespace pando::python {

// The text with names and options as Python spells them: keras::Input as keras.Input, {.drop_last = true} as
// drop_last=True. What is in quotes, and paths of files, are the user's and stay as they are.
std::string in_python(std::string_view text);

}  // namespace pando::python
