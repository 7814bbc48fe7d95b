// SPDX-License-Identifier: Apache-2.0
// The config of a layer, as a model of it alone is written.
#pragma once
#include <pando/frontends/keras/saving.h>

#include <string>

#include "io/json.h"

namespace pando::keras {

inline std::string model_text(const Layer& layer) { return Sequential({layer}, {.name = "m"}).to_json(); }

inline Json config_of(const std::string& text) {
  return *Json::parse(text, "it").find("config")->find("layers")->list("it")[0].find("config");
}

// The config without what all layers have.
inline std::string settings_of(const Layer& layer) {
  Json settings = Json::Object();
  const Json config = config_of(model_text(layer));
  for (const auto& [key, value] : config.object("it"))
    if (key != "name" && key != "trainable" && key != "dtype") settings.set(key, value);
  return settings.text();
}

}  // namespace pando::keras
