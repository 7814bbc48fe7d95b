// SPDX-License-Identifier: Apache-2.0
// Two nodes compute the same if their op, attributes and inputs are the same. A walk in order gives each node a text of
// these as its key, in which inputs are already merged, and drops a node whose key was seen before.
#include <fmt/format.h>

#include <map>

#include "compiler/passes/pass.h"
#include "graph/elementwise_program.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"

namespace pando {

namespace {

// Larger constants are the same only if they share their memory: comparing them is not worth the time.
constexpr std::size_t compared_bytes = 4096;

std::string key_of(const Attribute& attribute) {
  struct {
    std::string operator()(bool value) const { return value ? "t" : "f"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{:a}", value); }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const Integers& value) const { return fmt::format("{}", fmt::join(value, ",")); }
    std::string operator()(DType value) const { return std::string(name(value)); }
    std::string operator()(const Array& value) const {
      const std::string type = to_string(Type{value.dtype(), value.shape()});
      if (value.bytes() > compared_bytes) return fmt::format("{}@{}", type, fmt::ptr(value.raw()));
      return type + std::string(reinterpret_cast<const char*>(value.raw()), value.bytes());
    }
    std::string operator()(const std::shared_ptr<const ElementwiseProgram>& value) const {
      return value ? to_string(*value) : "";
    }
  } const key;
  return std::visit(key, attribute);
}

std::string key_of(const Node& node) {
  std::string key(node.op->name);
  for (ValueId input : node.inputs) key += fmt::format("%{}#{}", input.node, input.output);
  for (const auto& [name, value] : node.attributes) key += fmt::format("|{}={}", name, key_of(value));
  return key;
}

}  // namespace

Graph merge_common_subexpressions(const Graph& graph, const PassContext&) {
  Rewriter rewriter(graph);
  std::map<std::string, std::int32_t> seen;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    Node node = graph.nodes()[i];
    for (ValueId& input : node.inputs) input = rewriter[input];
    // Inputs and variables are told apart by their names, which the key holds.
    const auto found = seen.find(key_of(node));
    if (found == seen.end()) {
      seen[key_of(node)] = rewriter.keep(index);
      continue;
    }
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(node.outputs.size()); ++k)
      rewriter.replace({index, k}, {found->second, k});
  }
  return rewriter.finish();
}

}  // namespace pando
