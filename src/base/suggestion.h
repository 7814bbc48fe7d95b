// SPDX-License-Identifier: Apache-2.0
// The name that somebody meant who mistyped it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace pando {

// "did you mean 'matmul'?": the known name that a person who wrote `given` means, or the few that it may be. Capitals
// and what is neither a letter nor a digit do not count. Empty when nothing is near.
std::string suggestion(std::string_view given, const std::vector<std::string>& known);

}  // namespace pando
