// SPDX-License-Identifier: Apache-2.0
// How the inputs and outputs of a node that updates parameters are laid out.
#pragma once
#include <pando/graph/graph.h>

namespace pando {

// The inputs are the scalars, then groups one after the other, each (parameter, gradient, states ...). The outputs are
// the groups' new values in the same order, each (parameter, states ...). The attribute "groups" gives their number.
struct UpdateLayout {
  int scalars = 1;
  int inputs_per_group = 2;
  int outputs_per_group = 1;
  // Within a group: the input that each output replaces.
  std::vector<int> input_of_output = {};

  int input(int group, int place) const { return scalars + group * inputs_per_group + place; }
  int output(int group, int place) const { return group * outputs_per_group + place; }
};

// Throws InternalError if the op is not an update.
UpdateLayout update_layout(const OpDefinition& op, const Attributes& attributes);
inline UpdateLayout update_layout(const Node& node) { return update_layout(*node.op, node.attributes); }

}  // namespace pando
