// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/build/trainable_layers.h"

#include <algorithm>
#include <utility>

namespace pando::keras {

namespace {

thread_local const TrainableLayers* innermost_layers = nullptr;

}  // namespace

void TrainableLayers::note(const Layer& layer) {
  for_each_layer(layer, [&](const Layer& inner) { noted_[LayerAccess::identity(inner)] = inner.trainable(); });
}

bool TrainableLayers::contains(const Layer& layer) const {
  const auto found = noted_.find(LayerAccess::identity(layer));
  return found == noted_.end() ? layer.trainable() : found->second;
}

std::vector<Parameter> TrainableLayers::weights_of(const Layer& layer) const {
  std::vector<Parameter> list;
  for_each_layer(layer, [&](const Layer& inner) {
    if (!contains(inner)) return;
    for (const LayerWeight& weight : LayerAccess::own_weights(inner))
      // A layer may be inside two inner models: its weights count once.
      if (weight.parameter.trainable() && std::find(list.begin(), list.end(), weight.parameter) == list.end())
        list.push_back(weight.parameter);
  });
  return list;
}

bool TrainableLayers::are_those_of(const Layer& layer) const {
  bool same = true;
  for_each_layer(layer, [&](const Layer& inner) { same = same && contains(inner) == inner.trainable(); });
  return same;
}

TrainableLayers::Scope::Scope(const TrainableLayers& layers) : outer_(std::exchange(innermost_layers, &layers)) {}
TrainableLayers::Scope::~Scope() { innermost_layers = outer_; }

bool TrainableLayers::current_contain(const Layer& layer) {
  return innermost_layers != nullptr ? innermost_layers->contains(layer) : layer.trainable();
}

}  // namespace pando::keras
