// SPDX-License-Identifier: Apache-2.0
#include "same_results.h"

#include <pando/program/program.h>

#include <cmath>

#include "graph/op_definition.h"

namespace pando {
namespace {

constexpr double tolerance = 1e-5;

Array noise(const Type& type, std::uint32_t seed) {
  Array array(type.dtype, type.shape);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    state = state * 1664525u + 1013904223u;
    if (type.dtype == DType::int32) array.mutable_data<std::int32_t>()[i] = 0;
    else array.mutable_data<float>()[i] = static_cast<float>(static_cast<double>(state >> 8) / 8388608.0 - 1.0);
  }
  return array;
}

// All outputs of two steps and the variables after them.
std::map<std::string, Array> run(const Graph& graph, const std::vector<std::string>& disabled, const Device& device) {
  std::map<std::string, Array> feeds;
  Variables variables;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (is_role(node, Role::input)) feeds[node.attributes.text("name")] = noise(node.outputs[0], 7);
    if (is_role(node, Role::variable))
      variables.set(node.attributes.text("name"), noise(node.outputs[0], static_cast<std::uint32_t>(i)));
  }
  Program program(graph, device, variables, {.disabled_passes = disabled});
  std::map<std::string, Array> results = program.step(feeds);
  for (const auto& [name, value] : program.step(feeds)) results[name + " again"] = value;
  for (const std::string& name : variables.names()) results["variable " + name] = variables.get(name);
  return results;
}

std::string compare(const std::map<std::string, Array>& expected, const std::map<std::string, Array>& actual,
                    const std::string& what) {
  for (const auto& [name, array] : expected) {
    const Array& other = actual.at(name);
    double difference = 0, norm = 0;
    for (std::int64_t i = 0; i < array.elements(); ++i) {
      const double a = array.data<float>()[i], b = other.data<float>()[i];
      if (std::isnan(a) && std::isnan(b)) continue;
      difference += (a - b) * (a - b);
      norm += a * a;
    }
    if (!(std::sqrt(difference) <= tolerance * (std::sqrt(norm) + 0.1)))
      return name + " differs by " + std::to_string(std::sqrt(difference)) + " of " + std::to_string(std::sqrt(norm)) +
             " with " + what;
  }
  return "";
}

}  // namespace

namespace {

// One of each instruction set, the best last.
const std::vector<Device>& devices() {
  static const std::vector<Device> all = [] {
    std::vector<Device> found;
    for (const std::string& set : available_instruction_sets()) found.emplace_back(DeviceOptions{1, set});
    return found;
  }();
  return all;
}

}  // namespace

std::string find_difference_between_passes(const Graph& graph) {
  static const std::vector<std::string> passes = compile_passes();
  const Device& best = devices().back();
  const auto expected = run(graph, passes, best);
  std::string difference = compare(expected, run(graph, {}, best), "all passes on");
  for (std::size_t i = 0; i < passes.size() && difference.empty(); ++i)
    difference = compare(expected, run(graph, {passes[i]}, best), passes[i] + " off");
  return difference;
}

std::string find_difference_to_cpu(const Graph& graph) {
  static const Device cpu({.tiles = 1, .backend = "cpu"}), chosen;
  return compare(run(graph, {}, cpu), run(graph, {}, chosen), chosen.backend());
}

std::string find_difference_between_instruction_sets(const Graph& graph) {
  const auto expected = run(graph, {}, devices().front());
  std::string difference;
  for (std::size_t i = 1; i < devices().size() && difference.empty(); ++i)
    difference = compare(expected, run(graph, {}, devices()[i]), devices()[i].instruction_set());
  return difference;
}

}  // namespace pando
