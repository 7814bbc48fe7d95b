// SPDX-License-Identifier: Apache-2.0
// Objective: what training minimises, and how the gradients of its micro-batches make the gradients of an update.
#pragma once
#include <pando/model/trace.h>

namespace pando {

// How the gradients of the micro-batches and replicas of an update are combined.
enum class Reduction { mean, sum };

struct Objective {
  // The loss of a micro-batch.
  Value loss = {};
  // What a mean divides by: the samples of the micro-batch, or 1 for a loss that is a mean already. Not needed if an
  // update is one micro-batch.
  Value count = {};
  // Penalties, each a function of one weight alone, one for each parameter, or empty: their gradients are added once to
  // a mean, and once for each micro-batch of a sum.
  std::vector<Value> penalties = {};
  Reduction reduction = Reduction::sum;
  // Whether an update has several micro-batches or replicas.
  bool spans = false;
};

// The first pipeline stage that uses the variable, which updates it; any_stage if there are no stages.
std::int32_t updating_stage(const Graph& graph, ValueId variable);

// The gradients of the parameters for an update. They are added by micro-batch, then by replica. The same division
// gives the same bits, and with a mean every division gives the update of one device to rounding.
std::vector<Value> update_gradients(Trace& trace, const Objective& objective, const std::vector<Parameter>& parameters);
// The same where the front end has made the gradients of a micro-batch, one for each parameter; the loss is not used.
std::vector<Value> update_gradients(Trace& trace, const Objective& objective, const std::vector<Parameter>& parameters,
                                    const std::vector<Value>& slopes);

}  // namespace pando
