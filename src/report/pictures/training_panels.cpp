// SPDX-License-Identifier: Apache-2.0
// The panels of training curves for pages: all of one size, with what a script needs to show values under the pointer.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "io/json_writer.h"
#include "report/pictures/curve_panel.h"
#include "report/pictures/training_curves.h"

namespace pando::plot {

namespace {

constexpr std::size_t most_markers = 30;

// A panel's values in words, for screen readers.
std::string description_of(const Panel& panel) {
  std::string text = fmt::format("{} by {}", panel.title, panel.unit);
  for (const Series& series : panel.series) {
    const std::vector<double>& values = series.curve->values;
    text += fmt::format("; {}: from {:.4g} to {:.4g}", series.curve->name, values.front(), values.back());
  }
  return text;
}

// A dot for each of a few values, which a line alone would hide.
void draw_markers(Drawing& drawing, const Panel& panel, const Axes& axes, const Frame& frame) {
  for (const Series& series : panel.series) {
    if (series.curve->values.size() > most_markers) continue;
    for (std::size_t i = 0; i < series.curve->values.size(); ++i)
      if (const double value = series.curve->values[i]; drawable(value))
        drawing.add(Dot{.center = place_of(panel, axes, frame, i, value), .radius = 3, .color = series.color});
  }
}

// {"unit": "epoch", "frame": [left, top, right, bottom], "at": [positions], "x": [places of them],
//  "series": [[name, [places of its values], [values]], ...]}; null where a value is not drawn.
std::string values_json(const Panel& panel, const Axes& axes, const Frame& frame) {
  std::string text;
  JsonWriter json(text, {.blanks = false, .in_script = true});
  std::size_t count = 0;
  for (const Series& series : panel.series) count = std::max(count, series.curve->values.size());
  const auto list = [&](std::size_t size, const auto& write) {
    json.begin_list();
    for (std::size_t i = 0; i < size; ++i) write(i);
    json.end_list();
  };
  json.begin_object();
  json.member("unit", panel.unit);
  json.name("frame");
  const double frame_places[] = {frame.left, frame.plot_top(), frame.left + plot_width, frame.bottom()};
  list(4, [&](std::size_t i) { json.fixed(frame_places[i], 1); });
  json.name("at");
  list(count, [&](std::size_t i) { json.fixed(panel.position(i), 0); });
  json.name("x");
  list(count, [&](std::size_t i) { json.fixed(place_of(panel, axes, frame, i, 0).x, 1); });
  json.name("series");
  list(panel.series.size(), [&](std::size_t i) {
    const std::vector<double>& values = panel.series[i].curve->values;
    json.begin_list();
    json.value(readable_text(panel.series[i].name));
    list(values.size(), [&](std::size_t j) {
      if (drawable(values[j])) json.fixed(place_of(panel, axes, frame, j, values[j]).y, 1);
      else json.json("null");
    });
    list(values.size(), [&](std::size_t j) { json.value(fmt::format("{:.5g}", without_nan_sign(values[j]))); });
    json.end_list();
  });
  json.end_object();
  return text;
}

}  // namespace

std::vector<TrainingPanel> training_panels(const Curves& curves, const StepCurve& loss_by_step) {
  std::vector<Panel> panels = panels_of(curves);
  const Curve by_step{.name = "loss", .values = loss_by_step.values};
  if (!by_step.values.empty()) {
    Panel panel{.title = "loss",
                .series = {{.curve = &by_step}},
                .unit = "step",
                .first = static_cast<double>(loss_by_step.first),
                .each = static_cast<double>(loss_by_step.steps_each)};
    name_and_color(panel);
    const auto losses = std::find_if(panels.begin(), panels.end(), [](const Panel& p) { return p.title == "loss"; });
    panels.insert(losses == panels.end() ? losses : losses + 1, std::move(panel));
  }
  std::vector<Axes> axes;
  double left = 0, head = 0;
  for (const Panel& panel : panels) {
    axes.push_back(axes_of(panel));
    left = std::max(left, tick_width_of(axes.back()));
    head = std::max(head, head_height(panel));
  }
  std::vector<TrainingPanel> drawings;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    Drawing drawing{.width = left + plot_width + tick_gap, .height = head + plot_height + below_axis};
    const Frame frame{.left = left, .top = 0, .head_height = head};
    draw_panel(drawing, panels[i], axes[i], frame);
    draw_markers(drawing, panels[i], axes[i], frame);
    drawings.push_back({std::move(drawing), description_of(panels[i]), values_json(panels[i], axes[i], frame)});
  }
  return drawings;
}

}  // namespace pando::plot
