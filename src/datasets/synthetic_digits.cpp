// SPDX-License-Identifier: Apache-2.0
// Uses only + - * / and sqrt on doubles, which every machine rounds in the same way, and no contraction (see
// CMakeLists.txt), so the bytes are the same everywhere.
#include "datasets/synthetic_digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/philox.h"
#include "datasets/digit_strokes.h"

namespace pando {

namespace {

constexpr int size = digit_image_size;
constexpr int pixel_count = size * size;

// The random numbers of one sample, in the order in which they are asked for.
class Draws {
 public:
  Draws(std::uint64_t seed, DigitSequence sequence, std::uint32_t sample)
      : key_{seed, 0x64696769u, static_cast<std::uint32_t>(sequence), sample} {}

  std::uint32_t word() {
    if (used_ == 4) {
      block_ = philox::block(key_, index_++);
      used_ = 0;
    }
    return block_.word[used_++];
  }
  int below(std::size_t count) { return static_cast<int>((std::uint64_t{word()} * count) >> 32); }
  double uniform(double low, double high) { return low + (high - low) * (word() * 0x1p-32); }
  // Near the middle more often than at the ends, like handwriting.
  double middling(double low, double high) {
    const std::uint32_t bits = word();
    return low + (high - low) * (((bits >> 16) + (bits & 0xFFFF)) * 0x1p-17);
  }

 private:
  philox::Key key_;
  philox::Block block_ = {};
  std::uint32_t index_ = 0;
  int used_ = 4;
};

// One person's hand: from the strokes' coordinates to pixels around the origin, by a slight bend, then an affine map.
class Hand {
 public:
  explicit Hand(Draws& draws) {
    for (double& bend : bends_) bend = draws.middling(-0.22, 0.22);
    const double height = draws.middling(7.0, 11.0);
    const double width = height * draws.middling(0.75, 1.3);
    const double slant = draws.middling(-0.3, 0.55);
    // sine and cosine of an angle of up to 14 degrees, as rational functions of the tangent of its half
    const double half = draws.middling(-0.12, 0.12);
    const double cosine = (1 - half * half) / (1 + half * half), sine = 2 * half / (1 + half * half);
    map_ = {width * cosine, -height * (slant * cosine + sine), width * sine, height * (cosine - slant * sine)};
  }

  StrokePoint place(StrokePoint p) const {
    const double x = p.x + bends_[0] * p.x * p.y + bends_[1] * p.y * p.y + bends_[2] * p.x * p.x;
    const double y = p.y + bends_[3] * p.x * p.y + bends_[4] * p.y * p.y + bends_[5] * p.x * p.x;
    return {map_[0] * x + map_[1] * y, map_[2] * x + map_[3] * y};
  }

 private:
  std::array<double, 6> bends_;
  std::array<double, 4> map_;
};

struct Segment {
  StrokePoint a, b;
};

// The Catmull-Rom spline between p1 and p2, t from 0 to 1.
StrokePoint spline(StrokePoint p0, StrokePoint p1, StrokePoint p2, StrokePoint p3, double t) {
  const auto blend = [t](double a, double b, double c, double d) {
    return b + t * ((c - a) + t * ((2 * a - 5 * b + 4 * c - d) + t * (3 * (b - c) + d - a))) / 2;
  };
  return {blend(p0.x, p1.x, p2.x, p3.x), blend(p0.y, p1.y, p2.y, p3.y)};
}

// Adds the curve through the points of `stroke`, as short straight segments.
void add_stroke(const Stroke& stroke, std::vector<Segment>& segments) {
  constexpr int pieces = 4;
  const std::size_t last = stroke.size() - 1;
  const bool closed = stroke.front().x == stroke[last].x && stroke.front().y == stroke[last].y;
  StrokePoint from = stroke.front();
  for (std::size_t i = 0; i < last; ++i) {
    const StrokePoint before = i > 0 ? stroke[i - 1] : closed ? stroke[last - 1] : stroke[0];
    const StrokePoint after = i + 1 < last ? stroke[i + 2] : closed ? stroke[1] : stroke[last];
    for (int piece = 1; piece <= pieces; ++piece) {
      const StrokePoint to = spline(before, stroke[i], stroke[i + 1], after, piece / static_cast<double>(pieces));
      segments.push_back({from, to});
      from = to;
    }
  }
}

// The pen's way in pixels around the origin.
std::vector<Segment> write_digit(int digit, Draws& draws) {
  const std::vector<Glyph>& glyphs = digit_glyphs(digit);
  const Glyph& glyph = glyphs[static_cast<std::size_t>(draws.below(glyphs.size()))];
  const Hand hand(draws);
  std::vector<Segment> segments;
  Stroke placed;
  for (const Stroke& stroke : glyph) {
    placed.clear();
    for (const StrokePoint& p : stroke)
      placed.push_back(hand.place({p.x + draws.middling(-0.13, 0.13), p.y + draws.middling(-0.13, 0.13)}));
    if (stroke.front().x == stroke.back().x && stroke.front().y == stroke.back().y) placed.back() = placed.front();
    add_stroke(placed, segments);
  }
  return segments;
}

// How far [low, high] is to be moved to lie around the middle of the image, up to 3.5 pixels off it but not over the
// edge.
double place_on_axis(double low, double high, double margin, Draws& draws) {
  const double room = std::max(0.0, (size - (high - low)) / 2 - margin);
  return size / 2.0 - (low + high) / 2 + draws.middling(-1, 1) * std::min(3.5, room);
}

// Moves the digit to its place, after making one smaller that does not fit between the margins.
void place_on_paper(std::vector<Segment>& segments, double margin, Draws& draws) {
  StrokePoint low = segments.front().a, high = low;
  for (const Segment& s : segments) {
    low = {std::min({low.x, s.a.x, s.b.x}), std::min({low.y, s.a.y, s.b.y})};
    high = {std::max({high.x, s.a.x, s.b.x}), std::max({high.y, s.a.y, s.b.y})};
  }
  const double scale = std::min(1.0, (size - 2 * margin) / std::max(high.x - low.x, high.y - low.y));
  const double dx = place_on_axis(scale * low.x, scale * high.x, margin, draws);
  const double dy = place_on_axis(scale * low.y, scale * high.y, margin, draws);
  for (Segment& s : segments) s = {{scale * s.a.x + dx, scale * s.a.y + dy}, {scale * s.b.x + dx, scale * s.b.y + dy}};
}

// The squared distance of the point (px, py) from the segment from the origin to (dx, dy); `inverse` is 1 / (dx * dx +
// dy * dy).
double squared_distance(double px, double py, double dx, double dy, double inverse) {
  const double t = std::clamp((px * dx + py * dy) * inverse, 0.0, 1.0);
  const double ex = px - t * dx, ey = py - t * dy;
  return ex * ex + ey * ey;
}

// The pixels that reach into [low, high].
std::pair<int, int> pixel_range(double low, double high) {
  const auto clamped = [](double at) { return static_cast<int>(std::clamp(at, 0.0, static_cast<double>(size))); };
  return {clamped(low), clamped(high + 1)};
}

// For each pixel the squared distance of its centre from the pen's way, as far as `reach`.
std::array<double, pixel_count> measure_distances(const std::vector<Segment>& segments, double reach) {
  std::array<double, pixel_count> distances;
  distances.fill(std::numeric_limits<double>::max());
  for (const Segment& s : segments) {
    const auto [left, right] = pixel_range(std::min(s.a.x, s.b.x) - reach, std::max(s.a.x, s.b.x) + reach);
    const auto [top, bottom] = pixel_range(std::min(s.a.y, s.b.y) - reach, std::max(s.a.y, s.b.y) + reach);
    const double dx = s.b.x - s.a.x, dy = s.b.y - s.a.y, length = dx * dx + dy * dy;
    const double inverse = length > 0 ? 1 / length : 0.0;
    for (int row = top; row < bottom; ++row)
      for (int column = left; column < right; ++column) {
        double& nearest = distances[static_cast<std::size_t>(row * size + column)];
        nearest = std::min(nearest, squared_distance(column + 0.5 - s.a.x, row + 0.5 - s.a.y, dx, dy, inverse));
      }
  }
  return distances;
}

}  // namespace

std::uint8_t draw_digit(std::uint64_t seed, DigitSequence sequence, std::uint32_t sample, std::uint8_t* pixels) {
  Draws draws(seed, sequence, sample);
  const int digit = draws.below(10);
  std::vector<Segment> segments = write_digit(digit, draws);
  const double radius = draws.middling(0.6, 2.1);
  const double blur = draws.uniform(0.8, 1.4);
  const double ink = draws.uniform(180, 255);
  // Half of the papers are clean.
  const double noise = std::max(0.0, draws.uniform(-40, 40));
  place_on_paper(segments, radius + 1, draws);
  const std::array<double, pixel_count> distances = measure_distances(segments, radius + blur);
  for (int i = 0; i < pixel_count; ++i) {
    const double distance = std::sqrt(distances[static_cast<std::size_t>(i)]);
    const double coverage = std::clamp((radius - distance) / blur + 0.5, 0.0, 1.0);
    const double grain = noise > 0 ? noise * draws.middling(-1, 1) : 0.0;
    pixels[i] = static_cast<std::uint8_t>(std::clamp(ink * coverage + grain + 0.5, 0.0, 255.0));
  }
  return static_cast<std::uint8_t>(digit);
}

datasets::Split draw_digits(std::int64_t count, std::uint64_t seed, DigitSequence sequence) {
  datasets::Split split{Array(DType::uint8, {count, size, size}), Array(DType::uint8, {count})};
  std::uint8_t* pixels = split.x.mutable_data<std::uint8_t>();
  std::uint8_t* labels = split.y.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < count; ++i)
    labels[i] = draw_digit(seed, sequence, static_cast<std::uint32_t>(i), pixels + i * pixel_count);
  return split;
}

}  // namespace pando
