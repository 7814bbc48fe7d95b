// SPDX-License-Identifier: Apache-2.0
// Which calls of a network belong to which stage of a pipeline.
#pragma once
#include "frontends/keras/build/network.h"

namespace pando::keras {

struct StageAssignment {
  // One for each of Network::calls; an input has the stage of the first call that needs it.
  std::vector<int> of_call;
  int stages = 1;
};

// From the scopes that the calls were made in, or from `assigned`, one for each call that is not an input. Throws Error
// naming the layer if one has no stage or needs what a later stage makes; and for a gap in the numbers.
StageAssignment assign_stages(const Network& network, const std::vector<int>& assigned);

}  // namespace pando::keras
