// SPDX-License-Identifier: Apache-2.0
// The text of explain() on a page: lines with a label as a list, hints as a list, what is aligned by blanks as it is.
#pragma once
#include <string>

namespace pando::report {

// Empty if the text is.
std::string explanation_html(const std::string& text);

}  // namespace pando::report
