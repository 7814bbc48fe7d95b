// SPDX-License-Identifier: Apache-2.0
#include <pando/report/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/pictures/images.h"

namespace pando::plot {

namespace {

constexpr double margin = 16, gap = 14, longest_side = 116;
constexpr double title_size = 14, title_height = 22;
// A column grows with its titles so far; longer ones are cut.
constexpr double widest_column = 1.6 * longest_side;
constexpr Color title_color = {26, 26, 26};

// Small images are enlarged by multiples of one half, so that in a PNG file, which has two pixels for one, all their
// pixels are equally large.
double scale_of(const Images& images) {
  const double scale = longest_side / static_cast<double>(std::max(images.height, images.width));
  return scale < 0.5 ? scale : std::floor(2 * scale) / 2;
}

// The label of sample `index`: a number, or the place of the largest of several.
double label_of(const Array& labels, std::int64_t index) {
  const std::int64_t classes = labels.shape().rank() == 2 ? labels.shape()[1] : 1;
  const double* first = labels.data<double>() + index * classes;
  return classes == 1 ? *first : static_cast<double>(std::max_element(first, first + classes) - first);
}

std::string title_of(double label, const std::vector<std::string>& names) {
  if (names.empty()) return fmt::format("{:.6g}", label);
  if (!(label >= 0 && label < static_cast<double>(names.size())))
    throw Error(fmt::format("image_grid: there is no name for the label {}; {} names were given", label, names.size()));
  return names[static_cast<std::size_t>(label)];
}

std::vector<std::string> titles_of(const Array& labels, const Images& images, std::int64_t samples,
                                   const std::vector<std::string>& names) {
  if (labels.elements() == 0) return {};
  const Shape& shape = labels.shape();
  if (shape.rank() < 1 || shape.rank() > 2 || shape[0] != samples)
    throw Error(
        fmt::format("image_grid: labels of the shape {} do not belong to {} images; give [{}], or one-hot "
                    "[{}, classes]",
                    to_string(shape), samples, samples, samples));
  const Array values = labels.slice(0, images.count).astype(DType::float64);
  std::vector<std::string> titles;
  for (std::int64_t i = 0; i < images.count; ++i) titles.push_back(title_of(label_of(values, i), names));
  return titles;
}

}  // namespace

Picture image_grid(const Array& images, const Array& labels, const ImageGridOptions& options) {
  if (options.count < 1 || options.columns < 1)
    throw Error(fmt::format("image_grid: count {} in columns {} draws nothing; both must be at least 1", options.count,
                            options.columns));
  const Images drawn = images_of("image_grid", images, options.count);
  const std::vector<std::string> titles = titles_of(labels, drawn, images.shape()[0], options.names);

  const double scale = scale_of(drawn);
  const double width = scale * static_cast<double>(drawn.width), height = scale * static_cast<double>(drawn.height);
  double column = width;
  for (const std::string& title : titles) column = std::max(column, text_width(title, title_size));
  column = std::ceil(std::min(column, std::max(width, widest_column)));
  const double above = titles.empty() ? 0 : title_height;
  const std::int64_t columns = std::min(options.columns, drawn.count), rows = (drawn.count + columns - 1) / columns;

  Drawing drawing{.width = 2 * margin + static_cast<double>(columns) * (column + gap) - gap,
                  .height = 2 * margin + static_cast<double>(rows) * (above + height + gap) - gap};
  for (std::int64_t i = 0; i < drawn.count; ++i) {
    const double left = margin + static_cast<double>(i % columns) * (column + gap);
    const double top = margin + static_cast<double>(i / columns) * (above + height + gap);
    if (!titles.empty())
      drawing.add(Label{.at = {left + column / 2, top + title_size},
                        .text = fitted_text(titles[static_cast<std::size_t>(i)], title_size, column),
                        .size = title_size,
                        .anchor = Anchor::middle,
                        .color = title_color});
    drawing.add(Raster{.corner = {left + (column - width) / 2, top + above},
                       .width = width,
                       .height = height,
                       .columns = drawn.width,
                       .rows = drawn.height,
                       .pixels = pixels_of(drawn, i)});
  }
  return Picture(std::move(drawing));
}

}  // namespace pando::plot
