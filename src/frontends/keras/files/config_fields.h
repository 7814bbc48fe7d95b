// SPDX-License-Identifier: Apache-2.0
// ConfigFields: the members of a Keras config, described once and then written or read.
#pragma once
#include <pando/frontends/keras/layers.h>

#include <string>
#include <vector>

#include "io/json.h"

namespace pando::keras {

// How values stand in a config. Reading throws Error that begins with `what`.
Json config_value(bool value);
Json config_value(std::int64_t value);
Json config_value(double value);
Json config_value(const std::string& value);
Json config_value(const Shape& sizes);
Json config_value(const std::vector<std::int64_t>& numbers);
Json config_value(const Pair& pair);
Json config_value(const layers::Padding2D& padding);
Json config_value(const Activation& activation);
Json config_value(const Initializer& initializer);
Json config_value(const Regularizer& regularizer);
// Whether it is a function of the program, which has no form in a config.
bool is_own_function(const Activation& activation);
bool is_own_function(const Initializer& initializer);
void read_config_value(const Json& json, const std::string& what, bool& value);
void read_config_value(const Json& json, const std::string& what, std::int64_t& value);
void read_config_value(const Json& json, const std::string& what, double& value);
void read_config_value(const Json& json, const std::string& what, std::string& value);
void read_config_value(const Json& json, const std::string& what, Shape& sizes);
void read_config_value(const Json& json, const std::string& what, std::vector<std::int64_t>& numbers);
void read_config_value(const Json& json, const std::string& what, Pair& pair);
void read_config_value(const Json& json, const std::string& what, layers::Padding2D& padding);
void read_config_value(const Json& json, const std::string& what, Activation& activation);
void read_config_value(const Json& json, const std::string& what, Initializer& initializer);
void read_config_value(const Json& json, const std::string& what, Regularizer& regularizer);

template <class Value>
Json config_value(const std::optional<Value>& value) {
  return value ? config_value(*value) : Json();
}
template <class Value>
void read_config_value(const Json& json, const std::string& what, std::optional<Value>& value) {
  Value given = value.value_or(Value{1});
  read_config_value(json, what, given);
  value = given;
}

// A layer or an initializer lists its members here, and need not know whether they are written or read.
class ConfigFields {
 public:
  // Adds the members to `config`, which must outlive this.
  static ConfigFields writing(Json& config) { return ConfigFields(&config, nullptr, ""); }
  // The same without the members that a file cannot hold: the user's own functions.
  static ConfigFields writing_what_files_hold(Json& config) {
    ConfigFields fields(&config, nullptr, "");
    fields.leaves_out_functions_ = true;
    return fields;
  }
  // Takes them from `config`, which must outlive this. Messages begin with `who`: "Dense".
  static ConfigFields reading(const Json& config, const std::string& who) { return {nullptr, &config, who}; }

  // A member that keeps its value if the config has none, or null.
  template <class Value>
  void operator()(const char* key, Value& value) {
    if (out_ != nullptr) write(key, value);
    else if (const Json* json = take(key)) read_config_value(*json, what(key), value);
  }
  // Throws Error if the config does not have it.
  template <class Value>
  void required(const char* key, Value& value) {
    if (out_ == nullptr) check_there(key);
    (*this)(key, value);
  }
  // One number, which other programs also write as a list of one, or with its negative: [-0.1, 0.1].
  void axis(const char* key, std::int64_t& value);
  void symmetric(const char* key, double& value);
  // A member of which only this value is supported; throws Error for another.
  void fixed(const char* key, const Json& value);
  // The same for a key that Keras 2 does not know, and that is not written.
  void accepted(const char* key, const Json& value) {
    if (out_ == nullptr) fixed(key, value);
  }
  // A member on which nothing depends.
  void ignored(const char* key) { known_.emplace_back(key); }

  // Throws Error if the config has a member that was not described, unless it is null or false, which ask for nothing.
  void finish() const;

 private:
  ConfigFields(Json* out, const Json* in, const std::string& who) : out_(out), in_(in), who_(who) {}
  template <class Value>
  void write(const char* key, const Value& value) {
    if constexpr (std::is_same_v<Value, Activation> || std::is_same_v<Value, Initializer>)
      if (leaves_out_functions_ && is_own_function(value)) return;
    out_->set(key, config_value(value));
  }
  // Null if the member is missing or null.
  const Json* take(const char* key);
  void check_there(const char* key) const;
  std::string what(const char* key) const { return who_ + ": " + key; }

  Json* out_;
  const Json* in_;
  std::string who_;
  std::vector<std::string> known_ = {};
  bool leaves_out_functions_ = false;
};

// What a body or an initializer keeps: its config, to be written when asked.
template <class Config>
Function<void(ConfigFields&)> description_of(const Config& config) {
  return [config](ConfigFields& fields) {
    Config copy = config;
    copy.describe(fields);
  };
}

}  // namespace pando::keras
