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
  // JSON for charts.js: where the values are in the drawing, and what they are.
  std::string values = {};
};

// All of the same size; `loss_by_step` has its own after that of the losses. Empty if there is nothing to draw.
std::vector<TrainingPanel> training_panels(const Curves& curves, const StepCurve& loss_by_step);

}  // namespace pando::plot
