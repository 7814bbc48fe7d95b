// SPDX-License-Identifier: Apache-2.0
// Whether a graph gives the same results however it is compiled and whatever instruction set runs it.
#pragma once
#include <pando/graph/graph.h>

#include <string>

namespace pando {

// All compare the outputs of two steps and the variables after them. Empty if all agree within 1e-5 of the norm;
// otherwise what differs and by how much.
// All passes off, all on, and all on but one.
std::string find_difference_between_passes(const Graph& graph);
// Portable kernels and those of every instruction set of this machine.
std::string find_difference_between_instruction_sets(const Graph& graph);
// Between one core and the backend that PANDO_BACKEND names.
std::string find_difference_to_cpu(const Graph& graph);

}  // namespace pando
