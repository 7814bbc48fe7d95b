// SPDX-License-Identifier: Apache-2.0
#include <pando/report/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/pictures/axis.h"
#include "report/pictures/training_curves.h"

namespace pando::plot {

namespace {

constexpr double page_margin = 18, cell_gap = 28, plot_width = 340, plot_height = 220;
constexpr double heading_size = 15, panel_title_size = 13, text_size = 11;
constexpr double row_height = 18, below_axis = 38, tick_gap = 7;
constexpr double sample_length = 26, sample_gap = 5, entry_gap = 16;
// Okabe and Ito's colours, which the colour-blind can tell apart.
constexpr Color palette[] = {{0, 114, 178},   {213, 94, 0},   {0, 158, 115},
                             {204, 121, 167}, {86, 180, 233}, {230, 159, 0}};
constexpr std::string_view validation_prefix = "val_";

struct Series {
  const Curve* curve = nullptr;
  std::string name = {};
  Color color = {};
  bool validation = false;
};

struct Panel {
  std::string title = {};
  std::vector<Series> series = {};
};

// Larger values are not drawn, because their differences would overflow.
bool drawable(double value) { return std::abs(value) < 1e300; }

bool is_validation(const Curve& curve) { return curve.name.starts_with(validation_prefix); }

std::string metric_of(const Curve& curve) {
  return is_validation(curve) ? curve.name.substr(validation_prefix.size()) : curve.name;
}

std::string panel_title(const Curve& curve) {
  const std::string metric = metric_of(curve);
  return metric.ends_with("_loss") ? "loss" : metric;
}

// One metric: a colour for training and one for validation. Several: a colour for each metric.
void name_and_color(Panel& panel) {
  std::vector<std::string> metrics;
  for (const Series& series : panel.series)
    if (std::find(metrics.begin(), metrics.end(), metric_of(*series.curve)) == metrics.end())
      metrics.push_back(metric_of(*series.curve));
  for (Series& series : panel.series) {
    series.validation = is_validation(*series.curve);
    const auto metric = std::find(metrics.begin(), metrics.end(), metric_of(*series.curve)) - metrics.begin();
    const bool alone = metrics.size() == 1;
    const std::string name = !alone ? series.curve->name : series.validation ? "validation" : "training";
    series.name = fitted_text(name, text_size, plot_width - sample_length - sample_gap);
    series.color = palette[alone ? static_cast<std::size_t>(series.validation)
                                 : static_cast<std::size_t>(metric) % std::size(palette)];
  }
}

std::vector<Panel> panels_of(const Curves& curves) {
  std::vector<Panel> panels;
  for (const Curve& curve : curves) {
    if (curve.values.empty()) continue;
    const std::string title = panel_title(curve);
    auto panel = std::find_if(panels.begin(), panels.end(), [&](const Panel& p) { return p.title == title; });
    if (panel == panels.end()) panel = panels.insert(panels.end(), Panel{.title = title});
    panel->series.push_back({.curve = &curve});
  }
  for (Panel& panel : panels) name_and_color(panel);
  return panels;
}

// The place of one panel: the corner of its head, and of the plot below it.
struct Frame {
  double left = 0, top = 0, head_height = 0;
  double plot_top() const { return top + head_height; }
  double bottom() const { return plot_top() + plot_height; }
};

struct Axes {
  Axis epochs, values;
  bool empty = false;
};

Axes axes_of(const Panel& panel) {
  std::size_t epochs = 1;
  double smallest = INFINITY, largest = -INFINITY;
  for (const Series& series : panel.series) {
    epochs = std::max(epochs, series.curve->values.size());
    for (const double value : series.curve->values) {
      if (!drawable(value)) continue;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
  }
  const bool empty = smallest > largest;
  return {.epochs = epoch_axis(static_cast<std::int64_t>(epochs)),
          .values = empty ? Axis{} : value_axis(smallest, largest),
          .empty = empty};
}

double entry_width(const Series& series) { return sample_length + sample_gap + text_width(series.name, text_size); }

// The legend in rows that fit the plot; the first shares its row with the panel's title.
std::vector<std::vector<Series>> legend_rows(const Panel& panel) {
  std::vector<std::vector<Series>> rows(1);
  double used = text_width(panel.title, panel_title_size, /*bold=*/true);
  for (const Series& series : panel.series) {
    const double width = entry_gap + entry_width(series);
    if (used > 0 && used + width > plot_width) {
      rows.emplace_back();
      used = 0;
    }
    rows.back().push_back(series);
    used += width;
  }
  return rows;
}

double head_height(const Panel& panel) { return static_cast<double>(legend_rows(panel).size()) * row_height + 6; }

Polyline straight(Point from, Point to, Color color) { return {.points = {from, to}, .color = color}; }

void draw_head(Drawing& drawing, const Panel& panel, const Frame& frame) {
  double base = frame.top + panel_title_size;
  drawing.add(Label{.at = {frame.left, base},
                    .text = fitted_text(panel.title, panel_title_size * bold_stretch, plot_width),
                    .size = panel_title_size,
                    .color = ink,
                    .bold = true});
  for (const std::vector<Series>& row : legend_rows(panel)) {
    double left = frame.left + plot_width;
    for (const Series& series : row) left -= entry_width(series) + (&series == &row.front() ? 0 : entry_gap);
    for (const Series& series : row) {
      const double middle = base - text_size * 0.35;
      drawing.add(Polyline{.points = {{left, middle}, {left + sample_length, middle}},
                           .color = series.color,
                           .width = 2,
                           .dashed = series.validation});
      drawing.add(
          Label{.at = {left + sample_length + sample_gap, base}, .text = series.name, .size = text_size, .color = ink});
      left += entry_width(series) + entry_gap;
    }
    base += row_height;
  }
}

void draw_axes(Drawing& drawing, const Axes& axes, const Frame& frame) {
  const double right = frame.left + plot_width, bottom = frame.bottom();
  for (const Tick& tick : axes.values.ticks) {
    const double y = bottom - axes.values.place(tick.value) * plot_height;
    drawing.add(straight({frame.left, y}, {right, y}, grid_color));
    drawing.add(Label{.at = {frame.left - tick_gap, y + text_size * 0.35},
                      .text = tick.text,
                      .size = text_size,
                      .anchor = Anchor::end,
                      .color = ink});
  }
  for (const Tick& tick : axes.epochs.ticks) {
    const double x = frame.left + axes.epochs.place(tick.value) * plot_width;
    drawing.add(straight({x, frame.plot_top()}, {x, bottom}, grid_color));
    drawing.add(Label{.at = {x, bottom + tick_gap + text_size * 0.8},
                      .text = tick.text,
                      .size = text_size,
                      .anchor = Anchor::middle,
                      .color = ink});
  }
  drawing.add(straight({frame.left, frame.plot_top()}, {frame.left, bottom}, frame_color));
  drawing.add(straight({frame.left, bottom}, {right, bottom}, frame_color));
  drawing.add(Label{.at = {frame.left + plot_width / 2, bottom + below_axis - 5},
                    .text = "epoch",
                    .size = text_size,
                    .anchor = Anchor::middle,
                    .color = ink});
}

// Lines through neighbouring values; one without neighbours is a dot.
void draw_series(Drawing& drawing, const Series& series, const Axes& axes, const Frame& frame) {
  Polyline run{.color = series.color, .width = 2, .dashed = series.validation};
  const auto end_run = [&] {
    if (run.points.size() == 1) drawing.add(Dot{.center = run.points[0], .color = series.color});
    if (run.points.size() > 1) drawing.add(run);
    run.points.clear();
  };
  for (std::size_t i = 0; i < series.curve->values.size(); ++i) {
    const double value = series.curve->values[i];
    if (!drawable(value)) {
      end_run();
      continue;
    }
    run.points.push_back({frame.left + axes.epochs.place(static_cast<double>(i + 1)) * plot_width,
                          frame.bottom() - axes.values.place(value) * plot_height});
  }
  end_run();
}

void draw_panel(Drawing& drawing, const Panel& panel, const Axes& axes, const Frame& frame) {
  draw_head(drawing, panel, frame);
  draw_axes(drawing, axes, frame);
  for (const Series& series : panel.series) draw_series(drawing, series, axes, frame);
  if (axes.empty)
    drawing.add(Label{.at = {frame.left + plot_width / 2, frame.plot_top() + plot_height / 2},
                      .text = "no finite values",
                      .size = text_size,
                      .anchor = Anchor::middle,
                      .color = ink});
}

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

// A panel's values in words, for screen readers.
std::string description_of(const Panel& panel) {
  std::string text = fmt::format("{} by epoch", panel.title);
  for (const Series& series : panel.series) {
    const std::vector<double>& values = series.curve->values;
    text += fmt::format("; {}: from {:.4g} to {:.4g}", series.curve->name, values.front(), values.back());
  }
  return text;
}

// How wide the numbers beside a plot are.
double tick_width_of(const Axes& axes) {
  double width = 0;
  for (const Tick& tick : axes.values.ticks) width = std::max(width, text_width(tick.text, text_size) + tick_gap);
  return width;
}

}  // namespace

std::vector<TrainingPanel> training_panels(const Curves& curves) {
  std::vector<TrainingPanel> drawings;
  for (const Panel& panel : panels_of(curves)) {
    const Axes axes = axes_of(panel);
    const double left = tick_width_of(axes), head = head_height(panel);
    Drawing drawing{.width = left + plot_width + tick_gap, .height = head + plot_height + below_axis};
    draw_panel(drawing, panel, axes, {.left = left, .top = 0, .head_height = head});
    drawings.push_back({std::move(drawing), description_of(panel)});
  }
  return drawings;
}

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
