// SPDX-License-Identifier: Apache-2.0
// Models in files: their layers as JSON, their weights as safetensors.
#pragma once
#include <pando/frontends/keras/model.h>

namespace pando::keras {

// Makes the model that Model::to_json(), Keras or TensorFlow.js wrote, Sequential or functional, with new random
// weights. Throws Error naming the layer for what Pando does not have: another class, a Lambda, channels_first,
// float16... Keys that change nothing are ignored; Keras's defaults replace missing keys.
PANDO_API Model model_from_json(const std::string& text);

struct LayerConfigOptions {
  // Options that are functions of the program: left out, or refused.
  bool leave_out_functions = false;
};
// The options of a layer as JSON, by Keras's names: {"name": "dense", "units": 10, ...}. Throws Error for what a file
// cannot hold: a layer whose class is not one of Pando's, and a function of the program.
PANDO_API std::string layer_config(const Layer& layer, const LayerConfigOptions& options = {});

// A model of other layers, connected as those of `model` are: `clone` returns the layer that stands for each. Layers
// that the model calls several times are cloned once, inputs are made anew, and a Sequential model that is built makes
// one that is built. Throws Error if a layer does not fit.
PANDO_API Model clone_model(const Model& model, const Function<Layer(const Layer&)>& clone);

// Makes the model that Model::save() wrote, with its weights; the caller compiles it. Throws Error naming the file.
PANDO_API Model load_model(const std::string& directory);

// Throws the Error that Model::save() would throw if the folder cannot be written or holds something else. Changes
// nothing, so that a program can ask before it trains.
PANDO_API void probe_save(const std::string& directory);

}  // namespace pando::keras
