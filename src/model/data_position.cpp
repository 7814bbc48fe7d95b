// SPDX-License-Identifier: Apache-2.0
#include "model/data_position.h"

#include <fmt/format.h>

#include "data/pipeline/recipe.h"

namespace pando {

Json to_json(const DataPosition& position) {
  Json json = Json::Object{{"batches", position.batches}, {"now", position.now}};
  if (position.pass) json.set("pass", *position.pass);
  return json;
}

DataPosition data_position_of(const JsonFields& fields) {
  DataPosition position{.batches = fields.integer("batches", 0), .now = fields.at("now")};
  if (fields.has("pass")) position.pass = fields.at("pass");
  return position;
}

DatasetPass begin_pass(const data::Dataset& dataset) {
  Json before = data::DatasetState::of(dataset);
  return {std::move(before), dataset.iterator()};
}

DataPosition position_of(const data::Dataset& dataset, const DatasetPass& pass) {
  return {.pass = pass.before, .batches = pass.used, .now = data::DatasetState::of(dataset)};
}

DatasetPass open_pass(const data::Dataset& dataset, const DataPosition& position) {
  const auto fail = [&](std::int64_t elements) {
    throw Error(fmt::format("it is at element {} of a data set that has {}", position.batches, elements));
  };
  if (const std::int64_t count = dataset.cardinality(); count >= 0 && position.batches > count) fail(count);
  data::DatasetState::restore(dataset, position.pass.value());
  DatasetPass pass = begin_pass(dataset);
  for (; pass.used < position.batches; ++pass.used)
    if (!pass.iterator.next()) fail(pass.used);
  return pass;
}

}  // namespace pando
