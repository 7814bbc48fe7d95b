// SPDX-License-Identifier: Apache-2.0
// A drawing as SVG; needs no library.
#pragma once
#include "report/pictures/drawing.h"

namespace pando::plot {

// The text of a file, on white.
std::string svg_text(const Drawing& drawing);

// An element of a page, as wide as the page lets it be, without a background. Screen readers read out `description`.
std::string svg_element(const Drawing& drawing, std::string_view description);

// "#0072b2"
std::string hex(const Color& color);

}  // namespace pando::plot
