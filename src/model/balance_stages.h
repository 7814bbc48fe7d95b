// SPDX-License-Identifier: Apache-2.0
// Automatic stages. A front end traces a step with a stage for each call of a layer, a module or a function: its parts.
// The work of a part is the work of the kernels that the compiler makes of it. Neighbouring parts then make stages of
// about equal work. Names do not matter.
#pragma once
#include <pando/graph/graph.h>

#include <optional>

namespace pando {

// The work of each stage of a whole step, of one micro-batch, in operations. The step is compiled but not loaded.
std::vector<double> work_of_stages(const Graph& step);

// For each part the number of its stage: the work of the largest stage is as small as it can be. `stages` is at least 1
// and at most the number of parts, so that every stage has one.
std::vector<int> balance_stages(const std::vector<double>& work, int stages);

// What a step computes, before its update is added. The stages of its nodes are parts.
struct ForwardPass {
  const Graph& graph;
  std::vector<Value> results = {};
  // What training minimises, and the variables that it changes; nothing for inference.
  Value loss = {};
  std::vector<Value> trained = {};
  // The gradients of those, if the graph has them already.
  std::optional<std::vector<Value>> slopes = {};
};
// The work of each part, with its backward pass and its share of the update.
std::vector<double> work_of_parts(const ForwardPass& forward);

}  // namespace pando
