// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/ops/fused_programs.h"

namespace pando::test {

namespace {

double relu(double x) { return x < 0 ? 0 : x; }

// max(a * b + c, 0), where a and c may broadcast.
ProgramPointer scaled_relu(DType dtype) {
  ProgramBuilder program({dtype, dtype, dtype});
  const auto scaled = program.add("multiply", {0, 1});
  return program.finish({program.add("relu", {program.add("add", {scaled, 2})})});
}

Case scaled_relu_case(const Shape& a, const Shape& b, const Shape& c) {
  return {.inputs = {{a}, {b}, {c}},
          .reference = [](const Tensors& in) -> Tensors {
            return {elementwise(in, [](const auto& x) { return relu(x[0] * x[1] + x[2]); })};
          },
          .build =
              [](Graph& graph, const std::vector<Value>& in) {
                return graph.add(definitions::fused, in, {{"program", scaled_relu(in[0].dtype())}});
              }};
}

// Pixels of a storage type to numbers around 0, the first thing that models do.
Case pixels_case(DType storage, const Shape& shape) {
  return {.inputs = {{shape, storage}, {{}}},
          .reference = [](const Tensors& in) -> Tensors {
            return {elementwise(in, [](const auto& x) { return std::tanh(x[0] * x[1]); })};
          },
          .build =
              [](Graph& graph, const std::vector<Value>& in) {
                ProgramBuilder program({in[0].dtype(), in[1].dtype()});
                const auto number = program.add_typed(in[1].dtype(), "cast", {0});
                return graph.add(
                    definitions::fused, in,
                    {{"program", program.finish({program.add("tanh", {program.add("multiply", {number, 1})})})}});
              }};
}

// A mask on the way and results of three types: clip(a) where a < b, else b; the mask; the difference as bfloat16.
Case masked_case(const Shape& a, const Shape& b) {
  return {.inputs = {{a}, {b}},
          .reference = [](const Tensors& in) -> Tensors {
            const auto clipped = [](double x) { return std::min(std::max(x, -0.5), 0.25); };
            return {elementwise(in, [=](const auto& x) { return x[0] < x[1] ? clipped(x[0]) : x[1]; }),
                    elementwise(in, DType::boolean, [](const auto& x) { return double(x[0] < x[1]); }),
                    elementwise(in, DType::bfloat16, [](const auto& x) { return x[0] - x[1]; })};
          },
          .build =
              [](Graph& graph, const std::vector<Value>& in) {
                ProgramBuilder program({in[0].dtype(), in[1].dtype()});
                const auto mask = program.add_typed(DType::boolean, "less", {0, 1});
                const auto clipped = program.add("clip", {0}, {-0.5, 0.25});
                const auto chosen = program.add_typed(in[0].dtype(), "select", {mask, clipped, 1});
                const auto difference = program.add("subtract", {0, 1});
                return graph.add(
                    definitions::fused, in,
                    {{"program",
                      program.finish({chosen, mask, program.add_typed(DType::bfloat16, "cast", {difference})})}});
              }};
}

Epilogue bias_relu(std::int64_t columns) {
  return {.inputs = {{{columns}}},
          .program =
              [](DType dtype) {
                ProgramBuilder program({dtype, dtype});
                return program.finish({program.add("relu", {program.add("add", {0, 1})})});
              },
          .reference = [](const Tensor& raw, const Tensors& operands) -> Tensors {
            return {elementwise({raw, operands[0]}, [](const auto& x) { return relu(x[0] + x[1]); })};
          }};
}

Epilogue activation_only() {
  return {.inputs = {},
          .program =
              [](DType dtype) {
                ProgramBuilder program({dtype});
                return program.finish({program.add("tanh", {0})});
              },
          .reference = [](const Tensor& raw, const Tensors&) -> Tensors {
            return {elementwise({raw}, [](const auto& x) { return std::tanh(x[0]); })};
          }};
}

// The sum for the gradient and its sigmoid, both kept.
Epilogue two_results(std::int64_t columns) {
  return {.inputs = {{{1}}, {{columns}}},
          .program =
              [](DType dtype) {
                ProgramBuilder program({dtype, dtype, dtype});
                const auto sum = program.add("add", {program.add("multiply", {0, 1}), 2});
                return program.finish({sum, program.add("sigmoid", {sum})});
              },
          .reference = [](const Tensor& raw, const Tensors& operands) -> Tensors {
            const Tensor sum =
                elementwise({raw, operands[0], operands[1]}, [](const auto& x) { return x[0] * x[1] + x[2]; });
            return {sum, elementwise({sum}, [](const auto& x) { return 1 / (1 + std::exp(-x[0])); })};
          }};
}

}  // namespace

std::int32_t ProgramBuilder::add(std::string_view op, std::vector<std::int32_t> arguments,
                                 std::array<double, 2> parameters) {
  const std::int32_t number = add_typed(program_.dtype(arguments.front()), op, arguments);
  program_.instructions.back().parameters = parameters;
  return number;
}

std::int32_t ProgramBuilder::add_typed(DType result, std::string_view op, const std::vector<std::int32_t>& arguments) {
  ElementwiseProgram::Instruction instruction = {.op = &find_op(op), .result = result};
  for (std::size_t i = 0; i < arguments.size(); ++i) instruction.arguments[i] = arguments[i];
  program_.instructions.push_back(instruction);
  return static_cast<std::int32_t>(program_.operands.size() + program_.instructions.size() - 1);
}

ProgramPointer ProgramBuilder::finish(std::vector<std::int32_t> results) {
  program_.results = std::move(results);
  return std::make_shared<const ElementwiseProgram>(program_);
}

std::vector<Epilogue> epilogues(std::int64_t columns) {
  return {bias_relu(columns), activation_only(), two_results(columns)};
}

std::vector<Entry> fused_entries() {
  return {{.op = "fused",
           .cases = {scaled_relu_case({7}, {7}, {7}), scaled_relu_case({1}, {1}, {}), scaled_relu_case({0, 3}, {3}, {}),
                     scaled_relu_case({33, 40}, {40}, {33, 1}), scaled_relu_case({5, 1, 3}, {2, 1}, {5, 2, 3}),
                     scaled_relu_case({}, {}, {}), scaled_relu_case({2049}, {}, {2049}),
                     pixels_case(DType::uint8, {11, 13}), pixels_case(DType::bfloat16, {1037}),
                     pixels_case(DType::int32, {5}), pixels_case(DType::int64, {1, 9}),
                     pixels_case(DType::boolean, {1037}), masked_case({300}, {300}), masked_case({3, 1}, {5}),
                     masked_case({2, 0}, {1}), masked_case({1}, {1})}}};
}

}  // namespace pando::test
