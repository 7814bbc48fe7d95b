// SPDX-License-Identifier: Apache-2.0
// How many columns of a terminal a UTF-8 text takes.
#pragma once
#include <string>
#include <string_view>

namespace pando {

// East Asian wide characters and pictographs take two columns, all others one.
int text_width(std::string_view text);

// The first characters that fit into `columns` columns.
std::string cut_to_width(std::string_view text, int columns);

}  // namespace pando
