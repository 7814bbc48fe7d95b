// find_difference: whether a graph gives the same results however it is compiled and run.
#pragma once
#include <pando/graph.h>

#include <string>

namespace pando {

// Compares all passes off with all on, with each one off, and with every instruction set, over two steps. Empty if all
// agree within 1e-5 of the norm; otherwise what differs and by how much.
std::string find_difference(const Graph& graph);

}  // namespace pando
