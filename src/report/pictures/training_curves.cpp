// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/training_curves.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/pictures/curve_panel.h"

namespace pando::plot {

namespace {

constexpr double page_margin = 18, cell_gap = 28, heading_size = 15;

// Returns the height that it takes.
double draw_heading(Drawing& drawing, const std::string& title) {
  if (title.empty()) return 0;
  drawing.add(Label{.at = {drawing.width / 2, page_margin + heading_size},
                    .text = fitted_text(title, heading_size * bold_stretch, drawing.width - 2 * page_margin),
                    .size = heading_size,
                    .anchor = Anchor::middle,
                    .color = ink,
                    .bold = true});
  return heading_size + 14;
}

}  // namespace

Picture training_curves(const Curves& curves, const TrainingCurvesOptions& options) {
  const std::vector<Panel> panels = panels_of(curves);
  if (panels.empty()) throw Error("training_curves: there is no epoch to draw; train at least one first");
  if (options.columns < 1)
    throw Error(fmt::format("training_curves: {} panels side by side draw nothing; give at least 1", options.columns));

  std::vector<Axes> axes;
  double tick_width = 0;
  for (const Panel& panel : panels) {
    axes.push_back(axes_of(panel));
    tick_width = std::max(tick_width, tick_width_of(axes.back()));
  }
  const std::size_t columns = std::min(panels.size(), static_cast<std::size_t>(options.columns));
  const double cell_width = tick_width + plot_width + cell_gap;
  Drawing drawing{.width = 2 * page_margin + static_cast<double>(columns) * cell_width - cell_gap};
  double top = page_margin + draw_heading(drawing, options.title);
  for (std::size_t first = 0; first < panels.size(); first += columns) {
    const std::size_t last = std::min(first + columns, panels.size());
    // The plots of a row are aligned, whatever height their legends take.
    double head = 0;
    for (std::size_t i = first; i < last; ++i) head = std::max(head, head_height(panels[i]));
    for (std::size_t i = first; i < last; ++i) {
      const double left = page_margin + static_cast<double>(i - first) * cell_width + tick_width;
      draw_panel(drawing, panels[i], axes[i], {.left = left, .top = top, .head_height = head});
    }
    top += head + plot_height + below_axis + cell_gap;
  }
  drawing.height = top - cell_gap + page_margin;
  return Picture(std::move(drawing));
}

}  // namespace pando::plot
