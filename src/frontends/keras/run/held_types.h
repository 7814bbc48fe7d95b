// SPDX-License-Identifier: Apache-2.0
// The types in which a step holds what it is fed. Integers that do not fit would be clipped, so the host looks at them
// first.
#pragma once
#include "frontends/keras/run/samples.h"

namespace pando::keras {

class HeldTypes {
 public:
  // `columns` are the types of one sample: inputs, then targets.
  HeldTypes(const SampleUse& use, const std::vector<Type>& columns, const Network& network,
            const std::vector<OutputGoals>& goals);
  // Throws Error naming the first integer that the step cannot hold, and the remedy. `samples` lie at `data`, which may
  // be null.
  void check(std::size_t column, const std::byte* data, std::int64_t samples) const;

 private:
  SampleUse use_;
  std::vector<Type> fed_;
  std::vector<DType> held_;
};

}  // namespace pando::keras
