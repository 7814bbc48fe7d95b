// SPDX-License-Identifier: Apache-2.0
// Models as JSON, in the form of Keras 2's to_json().
#pragma once
#include <pando/frontends/keras/model.h>

#include "io/json.h"

namespace pando::keras {

// {"class_name", "config", "keras_version", "backend"}. Throws Error naming the layer that a file cannot hold.
Json model_json(const Model& model);

// What Keras and TensorFlow.js write, also inside the model.json of TensorFlow.js. Throws Error that begins with
// `what`.
Model read_model(const Json& json, const std::string& what);

// Reserves the names of the model's layers, so that layers without a given name do not get them.
void reserve_layer_names(const Model& model);

}  // namespace pando::keras
