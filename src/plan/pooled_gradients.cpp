// SPDX-License-Identifier: Apache-2.0
#include "plan/pooled_gradients.h"

#include <algorithm>

namespace pando {

namespace {

// Multiplications are counted in vectors of this many lanes, the longest there are.
constexpr std::int64_t lanes = 16;
// Finding an element that is not zero, and starting its sums, takes as long as this many multiplications.
constexpr std::int64_t find_cost = 128;
// The gradient of an image loads and stores a sum for each multiplication, which takes a little longer, and so does
// that of a filter with longer rows than this, whose sums are far apart.
constexpr double cost_of_stores = 1.1, cost_of_long_rows = 1.3;
constexpr std::int64_t long_row = 256;

std::int64_t whole_vectors(std::int64_t elements) { return (elements + lanes - 1) / lanes * lanes; }

double as_double(std::int64_t count) { return static_cast<double>(count); }

double pixels_for_each_pooled_one(const Shape& pixels, const Shape& pooled) {
  return as_double(pixels[1] * pixels[2]) / std::max(as_double(pooled[1] * pooled[2]), 1.0);
}

bool visits_for_filter(const Shape& filter, double places, double gain) {
  const double filled = as_double(whole_vectors(filter[3])) / std::max(as_double(filter[3]), 1.0);
  const std::int64_t row = filter[1] * filter[2];
  const double found = as_double(filter[0] * whole_vectors(row) + find_cost) * (row > long_row ? cost_of_long_rows : 1);
  return places * as_double(filter[0] * row) * filled > gain * found;
}

bool visits_for_images(const Shape& filter, double places, double gain) {
  const double products = as_double(filter[0] * filter[1] * whole_vectors(filter[2]));
  return places * products > gain * cost_of_stores * (products + find_cost);
}

}  // namespace

bool visits_maxima(const PooledGradientChoice& choice, double gain) {
  const double places = pixels_for_each_pooled_one(choice.pixels, choice.pooled);
  return choice.of_filter ? visits_for_filter(choice.filter, places, gain)
                          : visits_for_images(choice.filter, places, gain);
}

bool prefers_fewer_products(const PooledGradientChoice& choice) { return visits_maxima(choice, 1); }

}  // namespace pando
