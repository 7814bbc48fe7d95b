// SPDX-License-Identifier: Apache-2.0
// How the ten digits are written: the pen's strokes.
#pragma once
#include <vector>

namespace pando {

// x grows to the right and y downwards; a digit fills about [-0.6, 0.6] x [-1, 1].
struct StrokePoint {
  double x = 0;
  double y = 0;
};

// Points on the way of the pen; a smooth curve goes through them. It is closed if it ends where it begins.
using Stroke = std::vector<StrokePoint>;
using Glyph = std::vector<Stroke>;

// The ways in which people write `digit` (0 to 9).
const std::vector<Glyph>& digit_glyphs(int digit);

}  // namespace pando
