// SPDX-License-Identifier: Apache-2.0
// The classes of layers by Keras's names, for files that name them.
#pragma once
#include <string>
#include <vector>

#include "frontends/keras/files/config_fields.h"

namespace pando::keras {

struct LayerClass {
  // "Dense".
  std::string kind;
  Function<Layer(ConfigFields& fields, const std::string& name)> make;
};

// A class with the settings `Config`: its describe() names them, `make` makes a layer with them.
template <class Config, class Make>
LayerClass layer_class(const std::string& kind, Make make) {
  return {kind, [make](ConfigFields& fields, const std::string& name) -> Layer {
            Config config;
            config.describe(fields);
            config.options.name = name;
            return make(config);
          }};
}

// Each in the file of its name.
std::vector<LayerClass> activation_classes();
std::vector<LayerClass> augmentation_classes();
std::vector<LayerClass> convolution_classes();
std::vector<LayerClass> core_classes();
std::vector<LayerClass> image_classes();
std::vector<LayerClass> merge_classes();
std::vector<LayerClass> normalization_classes();
std::vector<LayerClass> pooling_classes();
std::vector<LayerClass> shape_classes();

}  // namespace pando::keras
