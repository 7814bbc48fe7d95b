// SPDX-License-Identifier: Apache-2.0
// A drawing as the bytes of a PNG file, drawn with cairo.
#pragma once
#include "report/pictures/drawing.h"

namespace pando::plot {

// Two pixels of the file for one of the drawing. Throws Error if cairo refuses, or if Pando was built without it.
std::string png_of(const Drawing& drawing);

}  // namespace pando::plot
