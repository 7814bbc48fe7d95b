// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/cairo_png.h"

#include <pando/base/error.h>

#ifdef PANDO_WITH_CAIRO

#include <cairo.h>

#include <cmath>
#include <memory>

namespace pando::plot {

namespace {

constexpr double pixels_each = 2;

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(std::string("Picture::save: cairo cannot draw this PNG: ") + cairo_status_to_string(status) +
              "; draw less or save it as .svg");
}

struct Destroy {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, Destroy>;
using Context = std::unique_ptr<cairo_t, Destroy>;

Surface empty_surface(std::int64_t columns, std::int64_t rows) {
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(columns), static_cast<int>(rows)));
  check(cairo_surface_status(surface.get()));
  return surface;
}

Surface surface_of(const Raster& raster) {
  Surface surface = empty_surface(raster.columns, raster.rows);
  unsigned char* const bytes = cairo_image_surface_get_data(surface.get());
  const std::int64_t stride = cairo_image_surface_get_stride(surface.get());
  const std::uint8_t* pixel = raster.pixels.data();
  for (std::int64_t y = 0; y < raster.rows; ++y) {
    std::uint32_t* const row = reinterpret_cast<std::uint32_t*>(bytes + y * stride);
    for (std::int64_t x = 0; x < raster.columns; ++x, pixel += 3)
      row[x] = static_cast<std::uint32_t>(pixel[0]) << 16 | static_cast<std::uint32_t>(pixel[1]) << 8 | pixel[2];
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

struct CairoPainter {
  cairo_t* context;

  void use(const Color& color) const {
    cairo_set_source_rgb(context, color.red / 255.0, color.green / 255.0, color.blue / 255.0);
  }
  void operator()(const Polyline& line) const {
    use(line.color);
    cairo_set_line_width(context, line.width);
    const double dashes[] = {6, 4};
    cairo_set_dash(context, dashes, line.dashed ? 2 : 0, 0);
    for (const Point& point : line.points) cairo_line_to(context, point.x, point.y);
    cairo_stroke(context);
  }
  void operator()(const Dot& dot) const {
    use(dot.color);
    cairo_arc(context, dot.center.x, dot.center.y, dot.radius, 0, 2 * std::acos(-1.0));
    cairo_fill(context);
  }
  void operator()(const Label& label) const {
    use(label.color);
    cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           label.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(context, label.size);
    const std::string text = readable_text(label.text);
    cairo_text_extents_t extents = {};
    cairo_text_extents(context, text.c_str(), &extents);
    const double before = label.anchor == Anchor::start ? 0 : label.anchor == Anchor::middle ? 0.5 : 1;
    cairo_move_to(context, label.at.x - before * extents.x_advance, label.at.y);
    cairo_show_text(context, text.c_str());
    cairo_new_path(context);
  }
  void operator()(const Raster& raster) const {
    const Surface surface = surface_of(raster);
    const double across = raster.width / static_cast<double>(raster.columns);
    const double down = raster.height / static_cast<double>(raster.rows);
    cairo_save(context);
    cairo_translate(context, raster.corner.x, raster.corner.y);
    cairo_scale(context, across, down);
    cairo_set_source_surface(context, surface.get(), 0, 0);
    // Draws squares if pixels are enlarged, and their mean if there are more of them than the file has.
    const bool enlarged = across * pixels_each >= 1 && down * pixels_each >= 1;
    cairo_pattern_set_filter(cairo_get_source(context), enlarged ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_rectangle(context, 0, 0, static_cast<double>(raster.columns), static_cast<double>(raster.rows));
    cairo_fill(context);
    cairo_restore(context);
  }
};

cairo_status_t append(void* bytes, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string png_of(const Drawing& drawing) {
  const Surface page = empty_surface(static_cast<std::int64_t>(std::ceil(drawing.width * pixels_each)),
                                     static_cast<std::int64_t>(std::ceil(drawing.height * pixels_each)));
  const Context context(cairo_create(page.get()));
  cairo_scale(context.get(), pixels_each, pixels_each);
  cairo_set_line_join(context.get(), CAIRO_LINE_JOIN_ROUND);
  cairo_set_source_rgb(context.get(), 1, 1, 1);
  cairo_paint(context.get());
  for (const Mark& mark : drawing.marks) std::visit(CairoPainter{context.get()}, mark);
  check(cairo_status(context.get()));
  std::string bytes;
  check(cairo_surface_write_to_png_stream(page.get(), append, &bytes));
  return bytes;
}

}  // namespace pando::plot

#else

namespace pando::plot {

std::string png_of(const Drawing&) {
  throw Error(
      "Picture::save: this Pando was built without cairo and draws no PNG; save it as .svg, or build with "
      "libcairo2-dev");
}

}  // namespace pando::plot

#endif
