// SPDX-License-Identifier: Apache-2.0
// Pictures of samples and of a training run, saved as PNG or SVG.
#pragma once
#include <pando/base/array.h>

#include <memory>
#include <string>
#include <vector>

namespace pando::plot {

struct Drawing;

// What was drawn. Cheap to copy; copies share the drawing.
class PANDO_API Picture {
 public:
  explicit Picture(Drawing drawing);

  // Saves as PNG or SVG, by the ending of the path. An existing file is replaced as a whole. Throws Error for another
  // ending, for .png if Pando was built without cairo, and if the file cannot be written.
  void save(const std::string& path) const;
  // The text of the SVG file.
  std::string svg() const;

 private:
  std::shared_ptr<const Drawing> drawing_;
};

struct ImageGridOptions {
  // How many images to show: the first ones, or all if there are fewer.
  std::int64_t count = 15;
  std::int64_t columns = 5;
  // Titles instead of the labels' numbers, label 0 first.
  std::vector<std::string> names = {};
};

// Images of the shape [n, h, w], [n, h, w, 1] (grey) or [n, h, w, 3] (red, green, blue), each under its label. Integers
// are 0 to 255; floating-point values range from 0, or the smallest value if negative, to 1, or the largest value if
// above 1. Labels are [n], or one-hot [n, classes]; an empty Array gives no titles. Throws Error if the arrays do not
// match.
PANDO_API Picture image_grid(const Array& images, const Array& labels, const ImageGridOptions& options = {});

// The values of a metric, one for each epoch; those that are not finite leave a gap.
struct Curve {
  std::string name = {};
  std::vector<double> values = {};
};
using Curves = std::vector<Curve>;

// A value for each step of a run; of a long one, means of neighbouring steps, so that it stays short.
struct StepCurve {
  // The steps that an earlier run did.
  std::int64_t first = 0;
  // A value is the mean of this many steps.
  std::int64_t steps_each = 1;
  std::vector<double> values = {};
};

struct TrainingCurvesOptions {
  // The title above all panels; none if empty.
  std::string title = {};
  // The number of panels side by side.
  int columns = 2;
};

// A panel for the losses ("loss", "val_loss", "head_loss", ...) and one for each other metric with its "val_" partner;
// training is solid, validation dashed. Throws Error if there is no epoch to draw.
PANDO_API Picture training_curves(const Curves& curves, const TrainingCurvesOptions& options = {});

}  // namespace pando::plot
