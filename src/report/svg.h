// A drawing as the text of an SVG file; needs no library.
#pragma once
#include "report/drawing.h"

namespace pando::plot {

std::string svg_text(const Drawing& drawing);

}  // namespace pando::plot
