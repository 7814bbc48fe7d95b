// SPDX-License-Identifier: Apache-2.0
// Prints docs/ops.md from the definitions: every op with what it computes, its inputs, outputs and attributes.
#include <fmt/format.h>

#include "ops/op_list.h"

namespace {

using namespace pando;

std::string inputs_text(const OpDefinition& op) {
  if (op.max_inputs == op.min_inputs) return fmt::format("{}", op.min_inputs);
  return op.max_inputs < 0 ? fmt::format("{} or more", op.min_inputs)
                           : fmt::format("{} to {}", op.min_inputs, op.max_inputs);
}

std::string attribute_names(const OpDefinition& op) {
  std::vector<std::string> names;
  for (const auto& attribute : op.attributes) names.push_back(fmt::format("`{}`", attribute.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

int main() {
  fmt::print(
      "# Ops\n\nEvery op of the graph, as `src/ops/ops.def` lists them. The builders are in `include/pando/ops/ops.h`; "
      "some of "
      "them, such as\n`conv2d_transpose` or `mean_squared_error`, are made of several ops. This page is printed by the "
      "target `document_ops`.\n\n"
      "A NaN is not lost: `maximum`, `minimum`, `clip`, `relu`, `reduce_max` and `max_pool` give NaN where an element "
      "is NaN, and\n`argmax` finds the first one. The `sign` of NaN is 0, and of the comparisons only `not_equal` "
      "holds "
      "for it. CPUs and GPUs agree.\n\n| op | what it computes | inputs | attributes | gradient "
      "|\n|---|---|---|---|---|\n");
  for (const OpDefinition* op : all_ops()) {
    std::string doc(op->doc);
    for (std::size_t place = 0; (place = doc.find('|', place)) != std::string::npos; place += 2)
      doc.replace(place, 1, "\\|");
    fmt::print("| `{}` | {} | {} | {} | {} |\n", op->name, doc, inputs_text(*op), attribute_names(*op),
               op->gradient != nullptr ? "yes" : "");
  }
}
