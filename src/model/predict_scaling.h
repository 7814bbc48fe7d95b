// SPDX-License-Identifier: Apache-2.0
// The time of an update with any number of workers, from the time of a step and the cost of messages.
#pragma once
#include <optional>
#include <vector>

#include "report/explain/explain.h"
#include "report/explain/measurements.h"

namespace pando {

// What the user gives instead of what was measured; 0 and an empty list mean nothing is given.
struct GivenFigures {
  std::vector<int> workers = {};
  // The time of a micro-batch on one IPU, with all stages.
  double step_seconds = 0;
  // In seconds, and in bytes a second.
  double latency = 0, bandwidth = 0;
};

// Nothing if the time of a step is not known, and `given` names no workers. Throws Error, with the remedy, if it does,
// and for figures that make no sense.
std::optional<Scaling> predict_scaling(const Explanation& explanation, const GivenFigures& given,
                                       const Measurements& measured);

// What `pando bench` has kept. A file that cannot be read is warned about, because it must not end a run that only
// mentions predictions.
Measurements kept_measurements();

}  // namespace pando
