// SPDX-License-Identifier: Apache-2.0
// Running the cases of the op table on devices, and comparing what comes out.
#pragma once
#include <pando/program/program.h>

#include <map>
#include <string_view>

#include "tests/ops/op_table.h"

namespace pando::test {

inline constexpr int most_tiles = 3;

// All that this machine has, or the one that PANDO_INSTRUCTION_SET names.
std::vector<std::string> tested_instruction_sets();

// A device that lives as long as the tests: starting tiles for each case would take longer than the cases.
const Device& device(std::string_view instruction_set, int tiles);
// Whether it gives the bits of the CPU; a GPU rounds otherwise.
bool computes_as_the_host(const Device& device);

// What a case feeds and what has to come out of it.
struct Trial {
  const OpDefinition* op;
  const Case* subject;
  Tensors inputs, expected;
};
// `number` is the place of the case in its entry; `dtype` the type under test.
Trial make_trial(const Entry& entry, std::size_t number, DType dtype);
// "case 3: float32[2, 3], int32[2]".
std::string label(const Trial& trial, std::size_t number);

using Feeds = std::map<std::string, Array>;
Feeds feeds_of(const Trial& trial);
std::string input_name(std::size_t input);
std::string output_name(std::size_t output);

// Why the device's backend has no kernel for an op of the case, in the backend's words; empty if it has one for each.
std::string why_unsupported(const Trial& trial, const Device& device);

// The case on inputs fed each step, or on constants; its outputs are not yet outputs of the graph.
std::vector<Value> build(Graph& graph, const Trial& trial, bool from_constants = false);
// All outputs of one step.
Tensors run(const Trial& trial, const Device& device, bool from_constants = false);

// "" if `got` is what the reference made, else what differs first.
std::string difference(const Tensor& got, const Tensor& expected, double slack);
// "" if both have the same bits.
std::string bit_difference(const Tensors& got, const Tensors& expected);

}  // namespace pando::test
