#include <pando/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/drawing.h"

namespace pando::plot {

namespace {

constexpr double margin = 16, gap = 14, longest_side = 116;
constexpr double title_size = 14, title_height = 22;
// A column grows with its titles so far; longer ones are cut.
constexpr double widest_column = 1.6 * longest_side;
constexpr Color ink = {26, 26, 26};

// What is drawn of the images: `count` of them, as numbers.
struct Images {
  Array values;
  std::int64_t count = 0, height = 0, width = 0, channels = 1;
  double low = 0, high = 1;
};

bool is_real(DType dtype) { return is_floating(dtype) || dtype == DType::bfloat16; }

void find_range(Images& images, DType dtype) {
  if (!is_real(dtype) && dtype != DType::boolean) images.high = 255;
  const double* values = images.values.data<double>();
  for (std::int64_t i = 0; i < images.values.elements(); ++i) {
    if (!std::isfinite(values[i])) continue;
    images.low = std::min(images.low, values[i]);
    images.high = std::max(images.high, values[i]);
  }
}

Images images_of(const Array& images, const ImageGridOptions& options) {
  const Shape& shape = images.shape();
  const bool fits = shape.rank() == 3 || (shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3));
  if (!fits || shape.elements() == 0)
    throw Error(
        fmt::format("image_grid: images of the shape {} cannot be drawn; give [n, height, width], "
                    "[n, height, width, 1] or [n, height, width, 3], at least one",
                    to_string(shape)));
  if (options.count < 1 || options.columns < 1)
    throw Error(fmt::format("image_grid: count {} in columns {} draws nothing; both must be at least 1", options.count,
                            options.columns));
  Images drawn{.values = {},
               .count = std::min(options.count, shape[0]),
               .height = shape[1],
               .width = shape[2],
               .channels = shape.rank() == 4 ? shape[3] : 1};
  drawn.values = images.slice(0, drawn.count).astype(DType::float64);
  find_range(drawn, images.dtype());
  return drawn;
}

// Small images grow by whole halves: then a PNG file, which has two pixels for one, shows all of theirs equally large.
double scale_of(const Images& images) {
  const double scale = longest_side / static_cast<double>(std::max(images.height, images.width));
  return scale < 0.5 ? scale : std::floor(2 * scale) / 2;
}

// Red, green and blue of image `index`.
std::vector<std::uint8_t> pixels_of(const Images& images, std::int64_t index) {
  const std::int64_t size = images.height * images.width;
  const double* values = images.values.data<double>() + index * size * images.channels;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size) * 3);
  for (std::int64_t i = 0; i < size * 3; ++i) {
    const double value = values[images.channels == 3 ? i : i / 3];
    const double part = (value - images.low) / (images.high - images.low);
    // What is not a number is black.
    pixels[static_cast<std::size_t>(i)] =
        part > 0 ? static_cast<std::uint8_t>(std::lround(255 * std::min(part, 1.0))) : std::uint8_t{0};
  }
  return pixels;
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
  const Images drawn = images_of(images, options);
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
                        .color = ink});
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
