// SPDX-License-Identifier: Apache-2.0
// One panel of training curves: its head with the legend, its axes and its lines.
#pragma once
#include <pando/report/plot.h>

#include "report/pictures/axis.h"
#include "report/pictures/drawing.h"

namespace pando::plot {

// The plot between the axes, and the room below and beside it.
constexpr double plot_width = 340, plot_height = 220, below_axis = 38, tick_gap = 7;

struct Series {
  const Curve* curve = nullptr;
  std::string name = {};
  Color color = {};
  bool validation = false;
};

struct Panel {
  std::string title = {};
  std::vector<Series> series = {};
  // What the values are of: value i is at first + (i + 1) * each.
  std::string unit = "epoch";
  double first = 0, each = 1;

  double position(std::size_t value) const { return first + static_cast<double>(value + 1) * each; }
};

// Puts each metric beside its "val_" partner, and all losses together. The curves must outlive the panels.
std::vector<Panel> panels_of(const Curves& curves);
// One metric: a colour for training and one for validation. Several: a colour for each metric.
void name_and_color(Panel& panel);

// The place of one panel: the corner of its head, and of the plot below it.
struct Frame {
  double left = 0, top = 0, head_height = 0;
  double plot_top() const { return top + head_height; }
  double bottom() const { return plot_top() + plot_height; }
};

struct Axes {
  Axis positions, values;
  bool empty = false;
};

Axes axes_of(const Panel& panel);
// The height of title and legend, and how wide the numbers beside the plot are.
double head_height(const Panel& panel);
double tick_width_of(const Axes& axes);

// Larger values are not drawn, because their differences would overflow.
bool drawable(double value);
Point place_of(const Panel& panel, const Axes& axes, const Frame& frame, std::size_t i, double value);

void draw_panel(Drawing& drawing, const Panel& panel, const Axes& axes, const Frame& frame);

}  // namespace pando::plot
