// SPDX-License-Identifier: Apache-2.0
// Kernels with products of bfloat16 on any machine, by the tiles of a model: what those of float32 compute from rounded
// factors, and the same bits on any number of tiles.
#include <pando/graph/graph.h>
#include <pando/ops/ops.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cpu/kernels.h"
#include "ops/op_list.h"
#include "tests/runtime/modelled_tiles.h"

namespace pando::cpu {
namespace {

struct Case {
  Op op;
  std::vector<Shape> inputs;
  Attributes attributes = {};
};

// Rows at equal distances and others, sums that are a multiple of 32 long and others, images whose rows are summed one
// by one and as one, in several runs; channels, filters, rows and columns that do not fill blocks.
std::vector<Case> cases() {
  const Attributes padded = {{"padding", Integers{1, 1, 1, 1}}};
  const auto with = [](Attributes attributes, const char* name, Integers value) {
    attributes.set(name, std::move(value));
    return attributes;
  };
  std::vector<Case> cases;
  struct Images {
    Shape x, filter;
    bool is_padded = true;
  };
  for (const Images& n : std::vector<Images>{{{2, 16, 16, 16}, {3, 3, 16, 32}},
                                             {{1, 8, 8, 64}, {3, 3, 64, 40}},
                                             {{1, 32, 32, 16}, {3, 3, 16, 16}},
                                             {{1, 13, 13, 32}, {3, 3, 32, 48}, false},
                                             {{1, 7, 33, 16}, {3, 3, 16, 34}},
                                             {{5, 5, 16, 16}, {1, 1, 16, 32}, false},
                                             {{64, 3, 4, 24}, {3, 3, 24, 32}},
                                             {{26, 4, 3, 16}, {3, 2, 16, 40}, false}}) {
    const std::int64_t rest = n.is_padded ? 0 : 1;
    const Shape y = {n.x[0], n.x[1] - rest * (n.filter[0] - 1), n.x[2] - rest * (n.filter[1] - 1), n.filter[3]};
    const Attributes attributes = n.is_padded ? padded : Attributes();
    cases.push_back({Op::conv2d, {n.x, n.filter}, attributes});
    cases.push_back(
        {Op::conv2d_weight_gradient, {n.x, y}, with(attributes, "kernel_size", {n.filter[0], n.filter[1]})});
    cases.push_back({Op::conv2d_input_gradient, {y, n.filter}, with(attributes, "input_size", {n.x[1], n.x[2]})});
  }
  cases.push_back({Op::conv2d_weight_gradient,
                   {{32, 9, 7, 16}, {32, 4, 3, 32}},
                   {{"kernel_size", Integers{3, 3}}, {"strides", Integers{2, 2}}}});
  cases.push_back({Op::matmul, {{128, 352}, {352, 80}}});
  cases.push_back({Op::matmul, {{70, 1000}, {1000, 33}}});
  cases.push_back({Op::matmul, {{40, 90}, {64, 90}}, {{"transpose_b", true}}});
  cases.push_back({Op::matmul, {{200, 36}, {200, 64}}, {{"transpose_a", true}}});
  cases.push_back({Op::matmul, {{3, 48, 64}, {3, 64, 32}}});
  return cases;
}

const OpDefinition& definition_of(Op op) {
  switch (op) {
    case Op::conv2d: return definitions::conv2d;
    case Op::conv2d_weight_gradient: return definitions::conv2d_weight_gradient;
    case Op::conv2d_input_gradient: return definitions::conv2d_input_gradient;
    default: return definitions::matmul;
  }
}

// The op as a call whose inputs are the first buffers and whose result is the last.
KernelCall call_of(const Case& c) {
  Graph graph;
  std::vector<Value> inputs;
  for (const Shape& shape : c.inputs)
    inputs.push_back(ops::input(graph, "input " + std::to_string(inputs.size()), DType::float32, shape));
  graph.add(definition_of(c.op), inputs, c.attributes);
  const Node& node = graph.nodes().back();
  KernelCall call = {.op = node.op, .attributes = node.attributes, .inputs = {}, .outputs = {}, .name = ""};
  std::int32_t buffer = 0;
  for (const Shape& shape : c.inputs) call.inputs.push_back({.buffer = buffer++, .type = {DType::float32, shape}});
  call.outputs.push_back({.buffer = buffer, .type = node.outputs[0]});
  return call;
}

using Numbers = std::vector<float>;

Numbers random_numbers(const Shape& shape, unsigned seed) {
  std::mt19937 generator(seed);
  Numbers numbers(static_cast<std::size_t>(shape.elements()));
  for (float& number : numbers) number = static_cast<float>(generator()) / 2147483648.0F - 1.0F;
  return numbers;
}

// Memory that is aligned as kernels expect, filled with NaN.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : memory_(bytes + 64, std::byte{0xff}) {}
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) % 64;
  }

 private:
  std::vector<std::byte> memory_;
};

// The shares of `tiles` tiles one after the other.
Numbers run(const KernelCall& call, const Routines& routines, int tiles, std::vector<Numbers> inputs) {
  const std::unique_ptr<Kernel> kernel =
      call.op->id == Op::conv2d                   ? factories::conv2d(call, routines)
      : call.op->id == Op::conv2d_weight_gradient ? factories::conv2d_weight_gradient(call, routines)
      : call.op->id == Op::conv2d_input_gradient  ? factories::conv2d_input_gradient(call, routines)
                                                  : factories::matmul(call, routines);
  Numbers result(static_cast<std::size_t>(call.outputs[0].type.shape.elements()), NAN);
  inputs.push_back(std::move(result));
  std::vector<std::byte*> buffers;
  for (Numbers& buffer : inputs) buffers.push_back(reinterpret_cast<std::byte*>(buffer.data()));
  Scratch shared(kernel->shared_bytes(tiles));
  std::vector<Scratch> scratch(static_cast<std::size_t>(tiles), Scratch(kernel->scratch_bytes()));
  const auto tile = [&](int index) {
    return Tile{index, tiles, scratch[static_cast<std::size_t>(index)].data(), buffers.data(), shared.data()};
  };
  for (int index = 0; index < tiles; ++index) kernel->run(tile(index));
  for (int index = 0; index < tiles && kernel->shared_bytes(tiles) > 0; ++index) kernel->finish(tile(index));
  return std::move(inputs.back());
}

TEST(MixedKernels, ComputeFromRoundedFactors) {
  const Routines& routines = routines_for(choose_instruction_set(""));
  Routines mixed = routines;
  mixed.matmul.mixed = &modelled_products;
  for (const Case& c : cases()) {
    const KernelCall call = call_of(c);
    SCOPED_TRACE(std::string(call.op->name) + " of " + to_string(c.inputs[0]) + " and " + to_string(c.inputs[1]));
    std::vector<Numbers> inputs, rounded;
    for (const Shape& shape : c.inputs) {
      inputs.push_back(random_numbers(shape, static_cast<unsigned>(inputs.size())));
      rounded.push_back(inputs.back());
      for (float& number : rounded.back()) number = widened(narrowed(number));
    }
    const Numbers expected = run(call, routines, 1, rounded), result = run(call, mixed, 1, inputs);
    // Sums of up to a few thousand products of numbers below one.
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 2e-4) << "element " << i;
    for (int tiles : {2, 5}) {
      const Numbers again = run(call, mixed, tiles, inputs);
      ASSERT_EQ(std::memcmp(again.data(), result.data(), result.size() * sizeof(float)), 0) << tiles << " tiles";
    }
    // Factors were rounded at all.
    EXPECT_NE(result, run(call, routines, 1, inputs));
  }
}

}  // namespace
}  // namespace pando::cpu
