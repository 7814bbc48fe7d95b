// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/running.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "program/backends.h"

namespace pando::test {

namespace {

struct Tolerance {
  double relative, absolute;
};

Tolerance tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return {1e-5, 1e-5};
    case DType::float64: return {1e-12, 1e-12};
    // Half a unit in its last place, where the value before rounding was off a little.
    case DType::bfloat16: return {1.0 / 128, 1e-5};
    default: return {0, 0};
  }
}

bool is_close(double got, double expected, const Tolerance& tolerance, double slack) {
  if (std::isnan(expected) || std::isinf(expected)) return std::isnan(expected) ? std::isnan(got) : got == expected;
  return std::abs(got - expected) <= slack * (tolerance.absolute + tolerance.relative * std::abs(expected));
}

}  // namespace

std::vector<std::string> tested_instruction_sets() {
  const char* only = std::getenv("PANDO_INSTRUCTION_SET");
  return only != nullptr ? std::vector<std::string>{only} : available_instruction_sets();
}

const Device& device(std::string_view instruction_set, int tiles) {
  static std::map<std::pair<std::string, int>, Device> devices;
  const auto key = std::pair(std::string(instruction_set), tiles);
  auto found = devices.find(key);
  if (found == devices.end())
    found = devices.emplace(key, Device({.tiles = tiles, .instruction_set = key.first})).first;
  return found->second;
}

bool computes_as_the_host(const Device& device) { return device.backend() != "cuda"; }

Trial make_trial(const Entry& entry, std::size_t number, DType dtype) {
  const Case& subject = entry.cases[number];
  Trial trial = {&find_op(entry.op), &subject, {}, {}};
  Generator generator(entry.op, number);
  for (const InputSpec& input : subject.inputs)
    trial.inputs.push_back(draw(input.domain, input.dtype.value_or(dtype), input.shape, generator));
  if (subject.prepare) subject.prepare(trial.inputs);
  for (const Tensor& expected : subject.reference(trial.inputs)) trial.expected.push_back(rounded(expected));
  return trial;
}

std::string label(const Trial& trial, std::size_t number) {
  std::string text = fmt::format("{} case {}:", trial.op->name, number);
  for (const Tensor& input : trial.inputs) text += fmt::format(" {}", to_string(Type{input.dtype, input.shape}));
  return text;
}

std::string input_name(std::size_t input) { return fmt::format("x{}", input); }
std::string output_name(std::size_t output) { return fmt::format("y{}", output); }

Feeds feeds_of(const Trial& trial) {
  Feeds feeds;
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) feeds[input_name(i)] = to_array(trial.inputs[i]);
  return feeds;
}

std::vector<Value> build(Graph& graph, const Trial& trial, bool from_constants) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
    const Tensor& input = trial.inputs[i];
    inputs.push_back(from_constants ? ops::constant(graph, to_array(input))
                                    : ops::input(graph, input_name(i), input.dtype, input.shape));
  }
  const Case& subject = *trial.subject;
  return subject.build ? subject.build(graph, inputs) : graph.add(*trial.op, inputs, subject.attributes);
}

std::string why_unsupported(const Trial& trial, const Device& device) {
  static std::map<std::string, std::unique_ptr<Backend>> backends;
  std::unique_ptr<Backend>& backend = backends[device.backend()];
  if (!backend) backend = make_backend({.tiles = 1, .backend = device.backend()});
  Graph graph;
  build(graph, trial);
  for (const Node& node : graph.nodes()) {
    KernelCall call{node.op, node.attributes, {}, {}, node.name};
    for (ValueId input : node.inputs) call.inputs.push_back({.type = graph.type(input)});
    for (const Type& type : node.outputs) call.outputs.push_back({.type = type});
    const std::string reason = node.op->role == Role::compute ? backend->why_unsupported(call) : "";
    if (!reason.empty()) return reason;
  }
  return "";
}

Tensors run(const Trial& trial, const Device& device, bool from_constants) {
  Graph graph;
  const std::vector<Value> outputs = build(graph, trial, from_constants);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph.add_output(output_name(i), outputs[i]);
  Program program(graph, device, Variables());
  const std::map<std::string, Array> results = program.step(from_constants ? Feeds() : feeds_of(trial));
  Tensors tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) tensors.push_back(to_tensor(results.at(output_name(i))));
  return tensors;
}

std::string difference(const Tensor& got, const Tensor& expected, double slack) {
  const Type type = {got.dtype, got.shape}, expected_type = {expected.dtype, expected.shape};
  if (type != expected_type) return fmt::format("is {} but must be {}", to_string(type), to_string(expected_type));
  const Tolerance tolerance = tolerance_of(got.dtype);
  int wrong = 0;
  std::int64_t first = -1;
  for (std::int64_t i = 0; i < got.elements(); ++i) {
    if (is_close(got[i], expected[i], tolerance, slack)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  const Index index = unravel(first, got.shape);
  return fmt::format("{} of {} elements differ, the first at [{}]: {:.9g} but must be {:.9g}", wrong, got.elements(),
                     fmt::join(index.begin(), index.begin() + got.shape.rank(), ", "), got[first], expected[first]);
}

std::string bit_difference(const Tensors& got, const Tensors& expected) {
  for (std::size_t output = 0; output < expected.size(); ++output)
    for (std::int64_t i = 0; i < expected[output].elements(); ++i)
      if (std::bit_cast<std::uint64_t>(got[output][i]) != std::bit_cast<std::uint64_t>(expected[output][i]))
        return fmt::format("output {} differs at {}: {:.17g} and {:.17g}", output, i, got[output][i],
                           expected[output][i]);
  return "";
}

}  // namespace pando::test
