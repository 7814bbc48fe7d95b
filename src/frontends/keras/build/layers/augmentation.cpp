// SPDX-License-Identifier: Apache-2.0
// Random changes of images: every sample of a training step draws its own.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "frontends/keras/build/layers/simple_body.h"
#include "frontends/keras/build/names.h"

namespace pando::keras {

namespace {

// One number in [-limit, limit) per sample, as [batch, 1, 1].
Value draw(LayerCall& call, std::int64_t batch, double limit) {
  return ops::reshape(ops::random_uniform(call.counter(), {batch}, -limit, limit, call.random()), {batch, 1, 1});
}

// Row or column numbers of an image, as [1, height, width].
Value coordinates(Graph& graph, std::int64_t height, std::int64_t width, bool rows) {
  Array numbers(DType::float32, {1, height, width});
  for (std::int64_t i = 0; i < height * width; ++i)
    numbers.mutable_data<float>()[i] = static_cast<float>(rows ? i / width : i % width);
  return ops::constant(graph, numbers);
}

// A place outside [0, size) brought inside: mirrored at the borders, or at the border itself.
Value inside(Value place, std::int64_t size, const std::string& mode) {
  const auto length = static_cast<double>(size);
  if (mode == "reflect") {
    // Distances from the outer edge of the first pixel repeat after twice the length, there and back.
    const Value edge = place + 0.5;
    const Value folded = edge - ops::floor(edge / (2 * length)) * (2 * length);
    place = (length - 0.5) - ops::abs(folded - length);
  }
  return ops::clip(place, 0, length - 1);
}

// The images seen at these places, between pixels in proportion.
Value sample_images(Value images, Value rows, Value columns, const layers::RandomTransformOptions& options) {
  const Shape s = images.shape();
  const std::int64_t batch = s[0], height = s[1], width = s[2], channels = s[3];
  Graph& graph = images.graph();
  const Value table = ops::reshape(images, {batch * height * width, channels});
  Array firsts(DType::int32, {batch, 1, 1});
  for (std::int64_t i = 0; i < batch; ++i)
    firsts.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * height * width);
  const Value first = ops::constant(graph, firsts);

  const Value y = inside(rows, height, options.fill_mode), x = inside(columns, width, options.fill_mode);
  const Value y0 = ops::floor(y), x0 = ops::floor(x);
  const Value y1 = ops::minimum(y0 + 1.0, ops::scalar(y0, static_cast<double>(height - 1)));
  const Value x1 = ops::minimum(x0 + 1.0, ops::scalar(x0, static_cast<double>(width - 1)));
  const Shape places = {batch, height, width};
  const auto pixels = [&](Value row, Value column) {
    const Value index = ops::cast(row, DType::int32) * static_cast<double>(width) + ops::cast(column, DType::int32);
    return ops::gather(table, ops::broadcast(first + index, places));
  };
  const auto share = [&](Value part) { return ops::reshape(ops::broadcast(part, places), {batch, height, width, 1}); };
  const Value down = share(y - y0), right = share(x - x0);
  const Value above = pixels(y0, x0) * (1.0 - right) + pixels(y0, x1) * right;
  const Value below = pixels(y1, x0) * (1.0 - right) + pixels(y1, x1) * right;
  const Value seen = above * (1.0 - down) + below * down;
  if (options.fill_mode != "constant") return seen;
  // Less than a pixel beyond the border the image still counts in part.
  const auto inner = [](Value place, std::int64_t size) {
    return ops::clip(ops::minimum(place + 1.0, static_cast<double>(size) - place), 0.0, 1.0);
  };
  const Value part = share(inner(rows, height) * inner(columns, width));
  return seen * part + (1.0 - part) * options.fill_value;
}

Value reversed(Value x, int axis) {
  const std::int64_t size = x.shape()[axis];
  Array order(DType::int32, {size});
  for (std::int64_t i = 0; i < size; ++i)
    order.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(size - 1 - i);
  // gather takes rows, so the axis is moved to the front and afterwards back.
  Integers permutation = {0, 1, 2, 3};
  std::swap(permutation[0], permutation[static_cast<std::size_t>(axis)]);
  const Value rows = ops::gather(ops::transpose(x, permutation), ops::constant(x.graph(), order));
  return ops::transpose(rows, permutation);
}

Value flip_some(LayerCall& call, Value x, int axis) {
  const std::int64_t batch = x.shape()[0];
  const Value chance = ops::reshape(draw(call, batch, 1.0), {batch, 1, 1, 1});
  return ops::select(ops::less(chance, ops::scalar(chance, 0.0)), reversed(x, axis), x);
}

struct FlipConfig {
  std::string mode = "horizontal_and_vertical";
  layers::NamedOptions options = {};
  void describe(ConfigFields& fields) {
    fields("mode", mode);
    fields.accepted("data_format", "channels_last");
    fields.ignored("seed");
  }
};

void describe_filling(ConfigFields& fields, layers::RandomTransformOptions& options) {
  fields("fill_mode", options.fill_mode);
  fields("fill_value", options.fill_value);
  fields.fixed("interpolation", "bilinear");
  fields.accepted("data_format", "channels_last");
  fields.ignored("seed");
}

struct TranslationConfig {
  double height_factor = 0, width_factor = 0;
  layers::RandomTransformOptions options = {};
  void describe(ConfigFields& fields) {
    fields.symmetric("height_factor", height_factor);
    fields.symmetric("width_factor", width_factor);
    describe_filling(fields, options);
  }
};

struct RotationConfig {
  double factor = 0;
  layers::RandomTransformOptions options = {};
  void describe(ConfigFields& fields) {
    fields.symmetric("factor", factor);
    describe_filling(fields, options);
  }
};

template <class Config>
std::shared_ptr<LayerBody> random_body(const std::string& kind, const Config& config,
                                       Function<Value(LayerCall&, Value)> change) {
  return simple_body({.kind = kind,
                      .describe = description_of(config),
                      .function =
                          [change = std::move(change)](LayerCall& call, const std::vector<Value>& inputs) {
                            if (!call.training()) return inputs[0];
                            const Value changed = change(call, inputs[0]);
                            call.trace().promise_rows(changed);
                            return changed;
                          },
                      .input_rank = 4});
}

void check_fill_mode(const std::string& kind, const layers::RandomTransformOptions& options) {
  check_choice(kind, "fill_mode", options.fill_mode, {"reflect", "nearest", "constant"});
}

Value translate(LayerCall& call, Value x, double height_factor, double width_factor,
                const layers::RandomTransformOptions& options) {
  const Shape s = x.shape();
  const Value down = draw(call, s[0], height_factor * static_cast<double>(s[1]));
  const Value right = draw(call, s[0], width_factor * static_cast<double>(s[2]));
  return sample_images(x, coordinates(x.graph(), s[1], s[2], true) - down,
                       coordinates(x.graph(), s[1], s[2], false) - right, options);
}

Value rotate(LayerCall& call, Value x, double factor, const layers::RandomTransformOptions& options) {
  const Shape s = x.shape();
  const Value angle = draw(call, s[0], factor * 2 * std::numbers::pi);
  const double middle_row = static_cast<double>(s[1] - 1) / 2, middle_column = static_cast<double>(s[2] - 1) / 2;
  const Value y = coordinates(x.graph(), s[1], s[2], true) - middle_row;
  const Value z = coordinates(x.graph(), s[1], s[2], false) - middle_column;
  const Value sine = ops::sin(angle), cosine = ops::cos(angle);
  return sample_images(x, y * cosine - z * sine + middle_row, y * sine + z * cosine + middle_column, options);
}

}  // namespace

namespace layers {

RandomFlip::RandomFlip(const std::string& mode, const NamedOptions& options)
    : Layer(random_body("RandomFlip", FlipConfig{mode},
                        [mode](LayerCall& call, Value x) {
                          if (mode != "horizontal") x = flip_some(call, x, 1);
                          if (mode != "vertical") x = flip_some(call, x, 2);
                          return x;
                        }),
            options.name) {
  check_choice("RandomFlip", "mode", mode, {"horizontal", "vertical", "horizontal_and_vertical"});
}

RandomTranslation::RandomTranslation(double height_factor, double width_factor, const RandomTransformOptions& options)
    : Layer(random_body(
                "RandomTranslation", TranslationConfig{height_factor, width_factor, options},
                [=](LayerCall& call, Value x) { return translate(call, x, height_factor, width_factor, options); }),
            options.name) {
  check_fill_mode("RandomTranslation", options);
  if (height_factor < 0 || width_factor < 0)
    throw Error(fmt::format("RandomTranslation: the factors are {} and {} but must not be negative", height_factor,
                            width_factor));
}

RandomRotation::RandomRotation(double factor, const RandomTransformOptions& options)
    : Layer(random_body("RandomRotation", RotationConfig{factor, options},
                        [=](LayerCall& call, Value x) { return rotate(call, x, factor, options); }),
            options.name) {
  check_fill_mode("RandomRotation", options);
  if (factor < 0) throw Error(fmt::format("RandomRotation: the factor is {} but must not be negative", factor));
}

}  // namespace layers

std::vector<LayerClass> augmentation_classes() {
  return {layer_class<FlipConfig>("RandomFlip", [](const auto& c) { return layers::RandomFlip(c.mode, c.options); }),
          layer_class<TranslationConfig>(
              "RandomTranslation",
              [](const auto& c) { return layers::RandomTranslation(c.height_factor, c.width_factor, c.options); }),
          layer_class<RotationConfig>("RandomRotation",
                                      [](const auto& c) { return layers::RandomRotation(c.factor, c.options); })};
}

}  // namespace pando::keras
