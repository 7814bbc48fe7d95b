// Models in files: their layers as JSON, their weights as safetensors.
#pragma once
#include <pando/frontends/keras/model.h>

namespace pando::keras {

// The model that Model::to_json() wrote, or Keras or TensorFlow.js: Sequential or functional, with weights drawn
// anew. Throws Error that names the layer for what Pando does not have: another class, a Lambda, channels_first,
// float16... Keys that change nothing are passed over, Keras's defaults stand in for those that are missing.
PANDO_API Model model_from_json(const std::string& text);

// The model that Model::save() wrote, with its weights; it has to be compiled. Throws Error naming the file.
PANDO_API Model load_model(const std::string& directory);

// Throws the Error that Model::save() would if nothing can be written there, or something else is there. Changes
// nothing and leaves nothing, so that a program can ask before it trains.
PANDO_API void probe_save(const std::string& directory);

}  // namespace pando::keras
