// SPDX-License-Identifier: Apache-2.0
// TrainableLayers: which layers of a model were trainable when it was compiled.
//
// As in Keras 2, freezing a layer afterwards changes nothing until the next compile(). So a program can compile a
// discriminator, freeze it, compile a larger model around it, and train both in turn.
#pragma once
#include <map>

#include "frontends/keras/build/layer.h"

namespace pando::keras {

class TrainableLayers {
 public:
  // Notes whether the layer and those inside it are trainable now.
  void note(const Layer& layer);
  // What was noted for the layer, or its current state if nothing was.
  bool contains(const Layer& layer) const;
  // The weights of the layer, and of those inside it, that are trained; each once.
  std::vector<Parameter> weights_of(const Layer& layer) const;
  // Whether the layer, and those inside it, are still as they were noted.
  bool are_those_of(const Layer& layer) const;

  // While it lives, layers that this thread traces are trainable if this set contains them.
  class Scope {
   public:
    explicit Scope(const TrainableLayers& layers);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const TrainableLayers* outer_;
  };
  // Asks the innermost scope; outside all scopes, the layer's current state counts.
  static bool current_contain(const Layer& layer);

 private:
  std::map<std::shared_ptr<void>, bool> noted_;
};

}  // namespace pando::keras
