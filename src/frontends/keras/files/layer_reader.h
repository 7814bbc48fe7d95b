// SPDX-License-Identifier: Apache-2.0
// The entries of "layers" in the JSON of a model.
#pragma once
#include <pando/frontends/keras/layers.h>

#include "io/json.h"

namespace pando::keras {

// Throws Error, "`what` has no 'KEY'".
const Json& member(const Json& json, const char* key, std::string_view what);

// The sizes of a sample in [null, 28, 28, 1]: the batch, in front, is null or does not matter.
Shape sample_shape(const Json& json, const std::string& what);

struct LayerEntry {
  // The name is empty if there is none.
  std::string kind, name;
  const Json& config;
};
LayerEntry read_entry(const Json& json);

// For an InputLayer.
struct InputSettings {
  Shape shape;
  InputOptions options;
};
InputSettings read_input(const LayerEntry& entry);

// For a layer that is neither an input nor a model. Throws Error for a class or a setting that is not supported.
Layer read_plain_layer(const LayerEntry& entry);

}  // namespace pando::keras
