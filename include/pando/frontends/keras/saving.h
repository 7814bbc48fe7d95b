// SPDX-License-Identifier: Apache-2.0
// Models in files: their layers as JSON, their weights as safetensors.
#pragma once
#include <pando/frontends/keras/model.h>

namespace pando::keras {

// Makes the model that Model::to_json(), Keras or TensorFlow.js wrote, Sequential or functional, with new random
// weights. Throws Error naming the layer for what Pando does not have: another class, a Lambda, channels_first,
// float16... Keys that change nothing are ignored; Keras's defaults replace missing keys.
PANDO_API Model model_from_json(const std::string& text);

// Makes the model that Model::save() wrote, with its weights; the caller compiles it. Throws Error naming the file.
PANDO_API Model load_model(const std::string& directory);

// Throws the Error that Model::save() would throw if the folder cannot be written or holds something else. Changes
// nothing, so that a program can ask before it trains.
PANDO_API void probe_save(const std::string& directory);

}  // namespace pando::keras
