// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/curve_panel.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/pictures/training_curves.h"

namespace pando::plot {

namespace {

constexpr double panel_title_size = 13, text_size = 11, row_height = 18;
constexpr double sample_length = 26, sample_gap = 5, entry_gap = 16;
// Okabe and Ito's colours, which the colour-blind can tell apart.
constexpr Color palette[] = {{0, 114, 178},   {213, 94, 0},   {0, 158, 115},
                             {204, 121, 167}, {86, 180, 233}, {230, 159, 0}};
constexpr std::string_view validation_prefix = "val_";

bool is_validation(const Curve& curve) { return curve.name.starts_with(validation_prefix); }

std::string metric_of(const Curve& curve) {
  return is_validation(curve) ? curve.name.substr(validation_prefix.size()) : curve.name;
}

std::string panel_title(const Curve& curve) {
  const std::string metric = metric_of(curve);
  return metric.ends_with("_loss") ? "loss" : metric;
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

void draw_axes(Drawing& drawing, const Axes& axes, const Frame& frame, const std::string& unit) {
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
  for (const Tick& tick : axes.positions.ticks) {
    const double x = frame.left + axes.positions.place(tick.value) * plot_width;
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
                    .text = unit,
                    .size = text_size,
                    .anchor = Anchor::middle,
                    .color = ink});
}

// Lines through neighbouring values; one without neighbours is a dot.
void draw_series(Drawing& drawing, const Panel& panel, const Series& series, const Axes& axes, const Frame& frame) {
  Polyline run{.color = series.color, .width = panel.unit == "epoch" ? 2.0 : 1.2, .dashed = series.validation};
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
    run.points.push_back(place_of(panel, axes, frame, i, value));
  }
  end_run();
}

}  // namespace

bool drawable(double value) { return std::abs(value) < 1e300; }

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

Axes axes_of(const Panel& panel) {
  std::size_t count = 1;
  double smallest = INFINITY, largest = -INFINITY;
  for (const Series& series : panel.series) {
    count = std::max(count, series.curve->values.size());
    for (const double value : series.curve->values) {
      if (!drawable(value)) continue;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
  }
  const bool empty = smallest > largest;
  return {.positions = epoch_axis(static_cast<std::int64_t>(panel.position(count - 1))),
          .values = empty ? Axis{} : value_axis(smallest, largest),
          .empty = empty};
}

double head_height(const Panel& panel) { return static_cast<double>(legend_rows(panel).size()) * row_height + 6; }

double tick_width_of(const Axes& axes) {
  double width = 0;
  for (const Tick& tick : axes.values.ticks) width = std::max(width, text_width(tick.text, text_size) + tick_gap);
  return width;
}

Point place_of(const Panel& panel, const Axes& axes, const Frame& frame, std::size_t i, double value) {
  return {frame.left + axes.positions.place(panel.position(i)) * plot_width,
          frame.bottom() - axes.values.place(value) * plot_height};
}

void draw_panel(Drawing& drawing, const Panel& panel, const Axes& axes, const Frame& frame) {
  draw_head(drawing, panel, frame);
  draw_axes(drawing, axes, frame, panel.unit);
  for (const Series& series : panel.series) draw_series(drawing, panel, series, axes, frame);
  if (axes.empty)
    drawing.add(Label{.at = {frame.left + plot_width / 2, frame.plot_top() + plot_height / 2},
                      .text = "no finite values",
                      .size = text_size,
                      .anchor = Anchor::middle,
                      .color = ink});
}

}  // namespace pando::plot
