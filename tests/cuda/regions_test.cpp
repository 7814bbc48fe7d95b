// SPDX-License-Identifier: Apache-2.0
// Regions: which calls they take, and their kernels, run on the host, against the CPU backend.
#include <gtest/gtest.h>
#include <pando/program/program.h>

#include <cstring>
#include <sstream>

#include "backends/cuda/regions/runtime_compiler.h"
#include "compiler/compile.h"
#include "tests/cuda/emulated_region.h"
#include "tests/cuda/region_models.h"

namespace pando::cuda {
namespace {

// Runs a step in both ways and compares loss and parameters. Returns the blocks of a cluster, 0 without a region.
int compare(const Model& model, const std::string& test, const RegionLimits& limits = h200) {
  const Plan plan = compile(model.graph, {});
  const PlanValues values(plan);
  const std::optional<RegionProgram> program = make_region(plan, values, limits);
  if (!program) return 0;
  EXPECT_EQ(program->calls.size(), values.calls.size()) << to_string(plan);
  Variables variables;
  std::map<std::string, Array> feeds;
  for (std::size_t i = 0; i < plan.variables.size(); ++i) {
    Array value = values_for(plan.variables[i].type, 0.3, static_cast<std::uint32_t>(i));
    // Means of squares.
    if (plan.variables[i].name.starts_with("v"))
      for (std::int64_t k = 0; k < value.elements(); ++k) value.mutable_data<float>()[k] *= value.data<float>()[k];
    variables.set(plan.variables[i].name, value);
  }
  for (const Port& input : plan.inputs) feeds[input.name] = values_for(input.type, 1.0, 99);
  for (const bool backwards : {false, true}) {
    EmulatedRegion region(plan, *program, test);
    for (const VariablePort& variable : plan.variables) region.write(variable.buffer, variables.get(variable.name));
    for (const Port& input : plan.inputs) region.write(input.buffer, feeds.at(input.name));
    region.run(backwards);
    Variables moved;
    for (const VariablePort& variable : plan.variables) moved.set(variable.name, variables.get(variable.name));
    Program reference(model.graph, Device({.backend = "cpu"}), moved);
    const std::map<std::string, Array> results = reference.step(feeds);
    for (const Port& output : plan.outputs)
      EXPECT_LT(distance(region.read(output.buffer, output.type), results.at(output.name)), 1e-5) << output.name;
    for (const VariablePort& variable : plan.variables) {
      const Array before = variables.get(variable.name), expected = moved.get(variable.name);
      if (variable.type.dtype != DType::float32) {
        const Array found = region.read(variable.buffer, variable.type);
        EXPECT_EQ(std::memcmp(found.raw(), expected.raw(), expected.bytes()), 0) << variable.name;
        continue;
      }
      EXPECT_LT(distance(region.read(variable.buffer, variable.type), expected), 1e-5) << variable.name;
      EXPECT_EQ(distance(before, expected) > 1e-5, variable.assigned) << variable.name << " does not move";
    }
  }
  return program->ranks;
}

TEST(Regions, MultilayerPerceptron) {
  Model model(32, {50});
  model.dense(128).relu().dense(10).descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "mlp"), 4);
}

TEST(Regions, ConvolutionsWithPooling) { EXPECT_EQ(compare(PooledConvolutions(), "pooled"), 2); }

TEST(Regions, ConvolutionsWithBorders) {
  Model model(8, {9, 9, 3});
  model.conv(8, 3, {.padding = ops::Padding::same})
      .relu()
      .conv(6, 5, {.padding = ops::Padding::same})
      .relu()
      .pool()
      .flatten()
      .dense(7)
      .descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "borders"), 8);
}

// More samples than clusters, without clusters.
TEST(Regions, SeveralSamplesForEachBlock) {
  Model model(11, {8, 8, 2});
  model.conv(5, 3).relu().pool().flatten().dense(4).descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "samples", {.multiprocessors = 4, .shared_bytes = 96 * 1024, .most_ranks = 1}), 1);
}

TEST(Regions, StridesAndResidualConnections) {
  Model model(16, {12, 12, 3});
  model.conv(16, 3, {.strides = {2, 2}, .padding = ops::Padding::same}).relu();
  const Value shortcut = model.x;
  model.conv(16, 3, {.padding = ops::Padding::same}).relu().conv(16, 3, {.padding = ops::Padding::same});
  model.x = ops::relu(model.x + shortcut);
  model.pool().flatten().dense(5).descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "residual"), 8);
}

// Blocks of a cluster do not divide the work evenly.
TEST(Regions, ClustersOfAnySize) {
  for (const int ranks : {3, 7}) {
    Model model(12, {11, 10, 3});
    model.conv(12, 3, {.padding = ops::Padding::same}).relu().pool();
    model.conv(10, 3, {.padding = ops::Padding::same}).relu().conv(8, 3).relu().pool().flatten();
    model.dense(96).relu().dense(7).descend(model.cross_entropy());
    RegionLimits limits = h200;
    limits.most_ranks = ranks;
    EXPECT_EQ(compare(model, "ranks" + std::to_string(ranks), limits), ranks);
  }
}

// The gradient of relu needs no phase of its own: the threads that make what it reads go on with it.
TEST(Regions, ElementwiseCallsFollowOthers) {
  Model model(8, {12, 12, 2});
  model.conv(8, 3).relu().conv(8, 3, {.strides = {2, 2}}).relu().conv(12, 2).relu().pool();
  model.x = ops::transpose(model.x, {0, 3, 1, 2});
  model.flatten().dense(40).relu().dense(5).descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "follow"), 8);
  const Plan plan = compile(model.graph, {});
  const std::optional<RegionProgram> program = make_region(plan, PlanValues(plan), h200);
  int followers = 0;
  for (const std::string& source : program->sources) {
    std::istringstream lines(source);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("scalar::relu_gradient") == std::string::npos) continue;
      ++followers;
      EXPECT_EQ(line.find("[&](int i) { const float v0"), std::string::npos) << line;
    }
  }
  EXPECT_GE(followers, 3) << to_string(plan);
}

// As many blocks as all samples can have at once.
TEST(Regions, ClustersThatRunAtOnce) {
  Model model(32, {50});
  model.dense(128).relu().dense(10).descend(model.cross_entropy());
  RegionLimits limits = h200;
  limits.clusters_at_once[4] = 30;
  EXPECT_EQ(compare(model, "at_once", limits), 3);
}

// A block with little shared memory leaves small weights where they are.
TEST(Regions, LittleSharedMemory) {
  Model model(16, {40});
  model.dense(64).relu().dense(10).descend(model.cross_entropy());
  const auto shared_bytes = [&](std::size_t most) {
    const Plan plan = compile(model.graph, {});
    const std::optional<RegionProgram> program =
        make_region(plan, PlanValues(plan), {.multiprocessors = 132, .shared_bytes = most, .most_ranks = 1});
    return program ? program->shared_bytes : 0;
  };
  const std::size_t all = shared_bytes(h200.shared_bytes), least = shared_bytes(all - 1);
  EXPECT_GT(least, 0u);
  EXPECT_LT(least, all);
  EXPECT_EQ(shared_bytes(least - 1), 0u);
}

TEST(Regions, Adam) { EXPECT_GT(compare(PerceptronWithAdam(16, 12), "adam"), 0); }

// The rate and the step are made of the counter, as Keras makes them: blocks that update make them for themselves.
TEST(Regions, NumbersThatOnlyUpdatesRead) {
  Model model(16, {20});
  model.dense(12).relu().dense(6);
  const Value update = ops::reshape(ops::slice(ops::counter(model.graph), {0}, {1}), {});
  const Value step = ops::cast(update, DType::float64);
  const Value rate = ops::cast(ops::scalar(step, 0.1) / (step * 0.5 + 1.0), DType::float32);
  model.adam(model.cross_entropy(), rate, step);
  EXPECT_GT(compare(model, "numbers"), 0);
  // They are read before the first kernel has ended.
  const Plan plan = compile(model.graph, {});
  const std::string source = make_region(plan, PlanValues(plan), h200)->update_source;
  const std::size_t prepared = source.find("prepare<float>"), begin = source.rfind("if (cluster", prepared);
  ASSERT_NE(prepared, std::string::npos);
  EXPECT_EQ(source.substr(begin, prepared - begin).find("wait_for_kernel_before"), std::string::npos) << source;
  if (!why_no_runtime_compiler().empty()) return;
  EXPECT_NE(compile_sources({source}, 256, 90).find(".text.update"), std::string::npos);
}

// One that is also an output stays outside.
TEST(Regions, NumbersThatLeaveAreMadeBefore) {
  Model model(16, {20});
  model.dense(12).relu().dense(6);
  const Value loss = model.cross_entropy();
  const std::vector<Value> found = gradients(loss, model.parameters);
  const Value step = ops::cast(ops::reshape(ops::slice(ops::counter(model.graph), {0}, {1}), {}), DType::float32);
  const Value rate = ops::scalar(step, 0.1) / (step + 1.0);
  model.graph.add_output("rate", rate);
  for (std::size_t i = 0; i < model.parameters.size(); ++i)
    model.graph.assign(model.parameters[i], ops::sgd_update(rate, model.parameters[i], found[i], {}, {})[0]);
  const Plan plan = compile(model.graph, {});
  const PlanValues values(plan);
  const std::optional<RegionProgram> program = make_region(plan, values, h200);
  ASSERT_TRUE(program);
  EXPECT_LT(program->calls.size(), values.calls.size());
  EXPECT_FALSE(program->before.empty());
}

TEST(Regions, SeveralLosses) {
  Model model(16, {20});
  model.dense(12).relu();
  const Value shared = model.x;
  model.dense(6);
  const Value first = model.cross_entropy();
  model.x = shared;
  model.dense(20);
  const Value target = ops::input(model.graph, "target", DType::float32, {16, 20});
  const Value second = ops::reduce_mean(ops::square(model.x - target));
  model.graph.add_output("first", first);
  model.graph.add_output("second", second);
  model.move_along(first + second);
  EXPECT_GT(compare(model, "losses"), 0);
}

// Two parameters with the same gradient: the sum is complete before either of them moves.
TEST(Regions, SharedGradients) {
  Model model(16, {20});
  model.dense(12).relu().dense(6);
  model.x = model.x + model.parameter({6});
  model.descend(model.cross_entropy());
  const Plan plan = compile(model.graph, {});
  const std::optional<RegionProgram> program = make_region(plan, PlanValues(plan), h200);
  ASSERT_TRUE(program);
  EXPECT_LT(program->calls.size(), PlanValues(plan).calls.size()) << to_string(plan);
}

TEST(Regions, Metrics) {
  Model model(16, {20});
  model.dense(12);
  model.x = ops::tanh(model.x);
  model.dense(6);
  const Value target = ops::input(model.graph, "target", DType::float32, {16, 6});
  const Value weight = ops::input(model.graph, "weight", DType::float32, {16});
  const Value correct = ops::cast(ops::equal(ops::argmax(model.x, 1), ops::argmax(target, 1)), DType::float32);
  model.graph.add_output("accuracy", ops::reduce_sum(correct * weight));
  model.graph.add_output("likely", ops::softmax(model.x));
  model.descend(ops::reduce_sum(ops::softmax_cross_entropy(model.x, target) * weight));
  EXPECT_EQ(compare(model, "metrics"), 8);
}

TEST(Regions, SoftmaxBetweenLayers) {
  Model model(16, {20});
  model.dense(6);
  model.x = ops::softmax(model.x);
  model.dense(5);
  model.descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "softmax"), 8);
}

// Labels become floats and whole numbers again, as Keras casts them.
TEST(Regions, CastsOfEveryKind) {
  Model model(16, {20});
  model.dense(6);
  const Value labels = ops::input(model.graph, "whole", DType::int32, {16});
  const Value as_float = ops::cast(labels, DType::float32);
  const Value correct = ops::equal(ops::argmax(model.x, 1), ops::cast(as_float, DType::int32));
  model.graph.add_output("accuracy", ops::reduce_sum(ops::cast(correct, DType::float32)));
  // Out of range, and NaN.
  const Value far = ops::cast(as_float * 1e12 - 1e12, DType::int32),
              none = ops::cast(as_float / as_float, DType::int32);
  const Value bytes = ops::cast(ops::cast(far, DType::uint8), DType::float32);
  model.graph.add_output("far", ops::cast(far, DType::float32) + ops::cast(none, DType::float32));
  model.graph.add_output("bytes", bytes);
  model.graph.add_output("long", ops::cast(ops::cast(as_float * -1e30, DType::int64), DType::float32));
  model.descend(model.cross_entropy());
  EXPECT_GT(compare(model, "casts"), 0);
  if (!why_no_runtime_compiler().empty()) return;
  const Plan plan = compile(model.graph, {});
  const std::optional<RegionProgram> program = make_region(plan, PlanValues(plan), h200);
  EXPECT_NE(compile_sources(program->sources, program->threads, 90).find(".text.region"), std::string::npos);
}

TEST(Regions, AreNotForWeightsThatAreReadTooOften) {
  Model model(128, {512});
  model.dense(1024).relu().dense(1024).relu().dense(10).descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "large"), 0);
}

}  // namespace
}  // namespace pando::cuda
