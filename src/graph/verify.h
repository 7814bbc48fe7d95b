// SPDX-License-Identifier: Apache-2.0
// verify: checks every promise that a Graph makes.
#pragma once
#include <pando/graph/graph.h>

namespace pando {

// Throws Error naming the node if
// - a node is used before it is made (a cycle), or an id names nothing;
// - a type differs from what the op infers, or an assignment does not fit;
// - two variables or two inputs share a name.
void verify(const Graph& graph);

}  // namespace pando
