// SPDX-License-Identifier: Apache-2.0
// The panels of plot::training_curves(), for pages.
#pragma once
#include <pando/report/plot.h>

#include "report/pictures/drawing.h"

namespace pando::plot {

// Everything that is not a series; pages have their own colours for these parts.
constexpr Color ink = {38, 38, 38}, grid_color = {226, 226, 226}, frame_color = {140, 140, 140};

struct TrainingPanel {
  Drawing drawing = {};
  // The same in words.
  std::string description = {};
};

// Empty if there is no epoch to draw.
std::vector<TrainingPanel> training_panels(const Curves& curves);

}  // namespace pando::plot
