// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/virtual_ipus.h"

namespace pando::cli {

namespace {

// "1,2,1000".
std::vector<int> worker_counts(const Arguments& arguments) {
  const std::string text = arguments.given("workers") ? arguments.text("workers") : "";
  std::vector<int> counts;
  const char* place = text.data();
  const char* const end = place + text.size();
  while (place != end) {
    int count = 0;
    const auto [after, error] = std::from_chars(place, end, count);
    if (error != std::errc() || count < 1 || count > 1'000'000 || (after != end && (*after != ',' || after + 1 == end)))
      arguments.fail(fmt::format("--workers '{}' is not a list of numbers from 1 to 1000000, such as 1,2,1000", text));
    counts.push_back(count);
    place = after == end ? end : after + 1;
  }
  return counts;
}

}  // namespace

int explain(const Arguments& arguments) {
  const Division division = division_of(arguments);
  const TrainingRecipe recipe = recipe_of(arguments);
  const SampleKind kind = describe_samples(sample_choice(arguments));
  const VirtualIpus ipus(division.ipus, division.tiles, division.backend);
  OpenedModel opened = open_model(arguments.words()[0], kind);
  prepare_training(opened, division, recipe);
  const auto number = [&](const char* name, double scale) {
    return arguments.given(name) ? arguments.number(name) * scale : 0;
  };
  if (arguments.given("latency") != arguments.given("bandwidth"))
    arguments.fail("--latency and --bandwidth describe a network together; give both");
  const keras::Model::ExplainOptions options = {.samples = kind.train,
                                                .batch_size = recipe.batch_size,
                                                .workers = worker_counts(arguments),
                                                .step_seconds = number("step-time", 1e-6),
                                                .network_latency = number("latency", 1e-6),
                                                .network_bandwidth = number("bandwidth", 1e9)};
  print(arguments.flag("json") ? opened.model.explain_json(options) : opened.model.explain(options));
  return 0;
}

namespace {

// Names and shapes.
Json weights_of(const keras::Layer& layer) {
  Json list = Json::List();
  for (const Parameter& weight : layer.weights()) {
    Json one;
    one.set("name", weight.name());
    one.set("shape", json_list(weight.value().shape()));
    list.append(one);
  }
  return list;
}

// As Keras has it: the batch is null, and a layer that gives several has a list of them.
Json output_shape_of(const keras::Model& model, const keras::Layer& layer) {
  Json all = Json::List();
  for (const Shape& shape : model.output_shapes(layer)) {
    Json one = Json::List();
    one.append(Json());
    for (int axis = 1; axis < shape.rank(); ++axis) one.append(shape[axis]);
    all.append(one);
  }
  return all.list("output_shape").size() == 1 ? all.list("output_shape").front() : all;
}

}  // namespace

int summary(const Arguments& arguments) {
  const OpenedModel opened = open_model(arguments.words()[0], describe_samples(sample_choice(arguments)));
  if (!arguments.flag("json")) {
    print_drawn(opened.model.summary_text(stdout));
    return 0;
  }
  Json json, layers = Json::List();
  for (const keras::Layer& layer : opened.model.layers()) {
    Json one;
    one.set("name", layer.name());
    one.set("class_name", layer.kind());
    one.set("output_shape", output_shape_of(opened.model, layer));
    one.set("parameters", layer.count_params());
    one.set("trainable", layer.trainable());
    one.set("weights", weights_of(layer));
    layers.append(one);
  }
  json.set("model", opened.model.name());
  json.set("input_shape", json_list(opened.input));
  json.set("parameters", opened.model.count_params());
  json.set("layers", layers);
  print_json(json);
  return 0;
}

}  // namespace pando::cli
