// Objective: what training makes small, and how the gradients of an update are made of those of its micro-batches.
#pragma once
#include <pando/model/trace.h>

namespace pando {

// How the gradients of the micro-batches and replicas of an update are put together.
enum class Reduction { mean, sum };

struct Objective {
  // Of a micro-batch.
  Value loss = {};
  // What a mean divides by: the samples of the micro-batch, or 1 for a loss that is a mean already. Not needed where an
  // update is one micro-batch.
  Value count = {};
  // Functions of one weight alone, for each parameter, or none: their gradients are added once to a mean, and once for
  // each micro-batch of a sum.
  std::vector<Value> penalties = {};
  Reduction reduction = Reduction::sum;
  // Whether an update has several micro-batches or replicas.
  bool spans = false;
};

// The gradients of the parameters, of an update.
std::vector<Value> update_gradients(Trace& trace, const Objective& objective, const std::vector<Parameter>& parameters);

}  // namespace pando
