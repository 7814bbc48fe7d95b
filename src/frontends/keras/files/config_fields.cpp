// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/files/config_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontends/keras/build/names.h"

namespace pando::keras {

namespace {

// No real model has sizes and steps beyond this; below it their products fit in 64 bits.
constexpr std::int64_t largest_number = 1'000'000'000;

// {"class_name": ..., "config": {...}}
Json named_config(const std::string& class_name, Json config) {
  return Json::Object{{"class_name", class_name}, {"config", std::move(config)}};
}

struct NamedConfig {
  std::string class_name;
  // An object; empty if there was only a name.
  Json config = Json::Object();
};

// The name alone stands for the defaults of the class.
NamedConfig read_named_config(const Json& json, const std::string& what) {
  if (!json.is_object()) return {json.string(what)};
  const Json* class_name = json.find("class_name");
  if (class_name == nullptr) throw Error(fmt::format("{} has no 'class_name'", what));
  NamedConfig named{class_name->string(what + ": class_name")};
  if (const Json* config = json.find("config"); config != nullptr && !config->is_null()) {
    config->object(what + ": config");
    named.config = *config;
  }
  return named;
}

}  // namespace

Json config_value(bool value) { return value; }
Json config_value(std::int64_t value) { return value; }
Json config_value(double value) { return Json::exact(value); }
Json config_value(const std::string& value) { return value; }
Json config_value(const Shape& sizes) { return config_value(std::vector<std::int64_t>(sizes.begin(), sizes.end())); }
Json config_value(const std::vector<std::int64_t>& numbers) { return Json::List(numbers.begin(), numbers.end()); }
Json config_value(const Pair& pair) { return Json::List{pair.height, pair.width}; }
Json config_value(const layers::Padding2D& padding) {
  return Json::List{Json::List{padding.top, padding.bottom}, Json::List{padding.left, padding.right}};
}

bool is_own_function(const Activation& activation) { return !activation.is_named(); }
bool is_own_function(const Initializer& initializer) { return !initializer.describe(); }

Json config_value(const Activation& activation) {
  if (is_own_function(activation))
    throw Error(fmt::format("the activation '{}' is your own function, which a file cannot hold; use one of Keras's",
                            activation.name()));
  return snake_case(activation.name());
}

Json config_value(const Initializer& initializer) {
  if (is_own_function(initializer))
    throw Error(fmt::format("the initializer '{}' is your own function, which a file cannot hold; use one of Keras's",
                            initializer.name()));
  Json config = Json::Object();
  ConfigFields fields = ConfigFields::writing(config);
  initializer.describe()(fields);
  return named_config(pascal_case(initializer.name()), config);
}

Json config_value(const Regularizer& regularizer) {
  if (!regularizer) return {};
  return named_config("L1L2", Json::Object{{"l1", regularizer.l1()}, {"l2", regularizer.l2()}});
}

void read_config_value(const Json& json, const std::string& what, bool& value) { value = json.boolean(what); }

void read_config_value(const Json& json, const std::string& what, std::int64_t& value) {
  value = json.integer(what);
  if (value < -largest_number || value > largest_number)
    throw Error(fmt::format("{} is {} but must be within {} of 0", what, value, largest_number));
}

void read_config_value(const Json& json, const std::string& what, double& value) { value = json.number(what); }
void read_config_value(const Json& json, const std::string& what, std::string& value) { value = json.string(what); }

void read_config_value(const Json& json, const std::string& what, Shape& sizes) {
  std::vector<std::int64_t> numbers;
  read_config_value(json, what, numbers);
  sizes = Shape(numbers);
}

void read_config_value(const Json& json, const std::string& what, std::vector<std::int64_t>& numbers) {
  numbers.clear();
  for (const Json& number : json.list(what)) read_config_value(number, what, numbers.emplace_back());
}

void read_config_value(const Json& json, const std::string& what, Pair& pair) {
  std::vector<std::int64_t> numbers(1);
  if (json.is_list()) read_config_value(json, what, numbers);
  else read_config_value(json, what, numbers[0]);
  if (numbers.empty() || numbers.size() > 2)
    throw Error(fmt::format("{} has {} numbers but should have 2", what, numbers.size()));
  pair = Pair(numbers.front(), numbers.back());
}

void read_config_value(const Json& json, const std::string& what, layers::Padding2D& padding) {
  const bool by_side = json.is_list() && json.list(what).size() == 2 && json.list(what)[0].is_list();
  if (!by_side) {
    Pair both = 1;
    read_config_value(json, what, both);
    padding = layers::Padding2D(both.height, both.width);
    return;
  }
  Pair rows = 1, columns = 1;
  read_config_value(json.list(what)[0], what, rows);
  read_config_value(json.list(what)[1], what, columns);
  padding = layers::Padding2D(rows, columns);
}

void read_config_value(const Json& json, const std::string& what, Activation& activation) {
  activation = Activation(json.string(what));
}

void read_config_value(const Json& json, const std::string& what, Initializer& initializer) {
  const NamedConfig named = read_named_config(json, what);
  ConfigFields fields = ConfigFields::reading(named.config, fmt::format("{}: {}", what, named.class_name));
  initializer = Initializer(named.class_name, fields);
  fields.finish();
}

void read_config_value(const Json& json, const std::string& what, Regularizer& regularizer) {
  const NamedConfig named = read_named_config(json, what);
  regularizer = Regularizer(named.class_name);
  if (!json.is_object()) return;
  // For the class L1L2 a missing number is 0; for its short name it is 0.01.
  const bool both = regularizer.l1() != 0 && regularizer.l2() != 0;
  double l1 = both ? 0.0 : regularizer.l1(), l2 = both ? 0.0 : regularizer.l2();
  ConfigFields fields = ConfigFields::reading(named.config, fmt::format("{}: {}", what, named.class_name));
  if (both || l1 != 0) fields("l1", l1);
  if (both || l2 != 0) fields("l2", l2);
  fields.finish();
  regularizer = Regularizer(l1, l2);
}

void ConfigFields::axis(const char* key, std::int64_t& value) {
  if (out_ != nullptr) return (*this)(key, value);
  const Json* json = take(key);
  if (json == nullptr) return;
  const bool one = json->is_list() && json->list(key).size() == 1;
  read_config_value(one ? json->list(key)[0] : *json, what(key), value);
}

void ConfigFields::symmetric(const char* key, double& value) {
  if (out_ != nullptr) return (*this)(key, value);
  check_there(key);
  const Json& json = *take(key);
  if (!json.is_list()) return read_config_value(json, what(key), value);
  const Json::List& ends = json.list(key);
  if (ends.size() != 2 || ends[0].number(what(key)) != -ends[1].number(what(key)))
    throw Error(fmt::format("{} is {}, and only a range around 0 is supported: [-f, f]", what(key), json.text()));
  value = ends[1].number(what(key));
}

void ConfigFields::fixed(const char* key, const Json& value) {
  if (out_ != nullptr) return out_->set(key, value);
  const Json* json = take(key);
  if (json == nullptr || *json == value) return;
  const bool same_number = json->is_number() && value.is_number() && json->number(key) == value.number(key);
  if (same_number) return;
  // A pair of the same number twice.
  if (json->is_list() && value.is_number()) {
    const Json::List& list = json->list(key);
    if (std::all_of(list.begin(), list.end(), [&](const Json& element) { return element == value; })) return;
  }
  if (value.is_null()) throw Error(fmt::format("{} is {}, which is not supported", what(key), json->text()));
  throw Error(fmt::format("{} is {}, and only {} is supported", what(key), json->text(), value.text()));
}

void ConfigFields::finish() const {
  for (const auto& [key, value] : in_->object(who_)) {
    if (value.is_null() || value == Json(false)) continue;
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      throw Error(fmt::format("{}: {}", who_, unknown_name("key", key, known_)));
  }
}

const Json* ConfigFields::take(const char* key) {
  known_.emplace_back(key);
  const Json* json = in_->find(key);
  return json == nullptr || json->is_null() ? nullptr : json;
}

void ConfigFields::check_there(const char* key) const {
  if (const Json* json = in_->find(key); json == nullptr || json->is_null())
    throw Error(fmt::format("{}: the key '{}' is missing", who_, key));
}

}  // namespace pando::keras
