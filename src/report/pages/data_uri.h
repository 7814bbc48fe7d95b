// SPDX-License-Identifier: Apache-2.0
// A picture inside a text: "data:image/png;base64,...".
#pragma once
#include "report/pictures/drawing.h"

namespace pando::plot {

// The raster's pixels as a PNG without compression: SVG supports no simpler format, and the pictures are small.
std::string png_data_uri(const Raster& raster);

}  // namespace pando::plot
