// SPDX-License-Identifier: Apache-2.0
// A span is its operand where one micro-batch runs on one device. With several replicas the executor averages their
// statistics instead, before each update.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

Graph remove_spans(const Graph& step) {
  Rewriter rewriter(step);
  for (std::size_t i = 0; i < step.nodes().size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    const Node& node = step.nodes()[i];
    if (is_role(node, Role::span)) rewriter.replace({index, 0}, rewriter[node.inputs[0]]);
    else rewriter.keep(index);
  }
  return rewriter.finish();
}

bool trains(const Graph& step) {
  return std::any_of(step.nodes().begin(), step.nodes().end(),
                     [](const Node& node) { return node.op->id == Op::update_sum; });
}

std::string sum_name(std::int32_t number) { return fmt::format("update_sum:{}", number); }

}  // namespace pando
