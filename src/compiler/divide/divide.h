// SPDX-License-Identifier: Apache-2.0
// From the graph of a whole step to the graphs of its devices. Each function is one cut; compile_step calls them all.
//
// A front end traces a step once. Nodes know their stage, and `update_sum` says what spans an update:
//
//   y = f(x, w)            @0     forward pass of stage 0     y is activation 0
//   loss = g(y)            @1     stage 1, both passes        dy is gradient 0
//   dy = g'(y)             @1
//   dw = f'(x, dy)         @0     backward pass of stage 0    dw is added to sum 0
//   w = w - update_sum(dw) @0     update of stage 0           reads the variable "update_sum:0"
#pragma once
#include "compiler/divide/part.h"

namespace pando {

// update_sum(x) -> x, replica_mean(x) -> x: a step that is one micro-batch on one device, or that does not train.
Graph remove_spans(const Graph& step);

// Whether some node sums over an update.
bool trains(const Graph& step);

// Throws Error naming the variable if replicas would give it different values: if a micro-batch assigns it a value that
// is not a replica_mean before an update.
void check_replicas(const Graph& step, int replicas);

// The variable of role `sum` that the operand of update_sum number `number` is added up in.
std::string sum_name(std::int32_t number);

// What is done for each micro-batch, and what is done once an update. In the first, the operand of each update_sum is
// an output of kind `sum`; in the second it is a variable. An assignment that depends on no update_sum belongs to the
// micro-batch, unless it depends on no input either.
struct StepHalves {
  Graph micro_batch, update;
};
// Throws Error if an output depends on the update, or the update uses what a micro-batch made without summing it.
StepHalves split_update(const Graph& step);

// The update of one stage. `values` makes outputs of kind `exchange`, which the updates of other stages need: the sums
// of squares of its gradients, for clipping by their global norm, and variables that it will change.
struct UpdateParts {
  Graph values, update;
  // The numbers of the sums that the stage needs.
  std::vector<std::int32_t> sums;
};
std::vector<UpdateParts> place_update(const Graph& update, int stages);

// The micro-batch part of each stage; a value that is made in one stage and used in another crosses every border
// between them, upwards as `activation` and downwards as `gradient`. Throws Error naming the node if a node of no stage
// uses one of a stage, and if a variable that every micro-batch assigns is used in another stage than that of its
// value. sums[stage] as in UpdateParts.
std::vector<Graph> cut_stages(const Graph& micro_batch, const std::vector<std::vector<std::int32_t>>& sums);

// The passes of a stage. The backward pass is what depends on a `gradient` input, and all sums; what it needs of the
// forward pass is a `stash`, or with `recomputation` is computed again, unless the forward pass changes it. Throws
// Error if something that the next stage needs depends on a gradient.
struct StagePasses {
  Graph forward, backward;
};
StagePasses split_passes(const Graph& stage, bool recomputation);

// Outputs of kind `sum` become assignments: of the value for the first micro-batch of an update, of the sum so far and
// the value for the others.
Graph accumulate(const Graph& backward, bool first);

}  // namespace pando
