// SPDX-License-Identifier: Apache-2.0
// Programs on devices whose memory the host cannot reach, alone and together with others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "ops/op_list.h"
#include "program/backends.h"
#include "tests/far/far_backend.h"
#include "tests/message.h"
#include "tests/program/sum_step.h"

namespace pando {
namespace {

Device far_device() { return Device({.tiles = 1, .backend = "far"}); }
Device near_device() { return Device({.tiles = 1, .backend = "cpu"}); }

// Without kernels for relu and for what stands for two ops.
class PoorBackend final : public FarBackend {
 public:
  using FarBackend::FarBackend;
  std::string name() const override { return "poor"; }
  Capabilities capabilities() const override {
    return {.most_instructions = 2,
            .epilogues = false,
            .early_pooling = false,
            .convolution_with_pooling = false,
            .matmul_with_update = false,
            .merged_updates = false};
  }
  std::string why_unsupported(const KernelCall& call) const override {
    return call.op->name == "relu" ? "it is a test" : CpuBackend::why_unsupported(call);
  }
};

Device poor_device() {
  register_backend("poor", [](const DeviceOptions& options) {
    return std::make_unique<PoorBackend>(options.tiles, options.instruction_set);
  });
  return Device({.tiles = 1, .backend = "poor"});
}

TEST(Backends, AreChosenByName) {
  EXPECT_EQ(far_device().backend(), "far");
  EXPECT_EQ(near_device().backend(), "cpu");
  EXPECT_EQ(message([] { Device({.backend = "cdu"}); }), "unknown backend 'cdu'; did you mean 'cpu'?");
}

TEST(Backends, AreChosenByTheEnvironment) {
  const char* before = std::getenv("PANDO_BACKEND");
  const std::string kept = before == nullptr ? "" : before;
  setenv("PANDO_BACKEND", "far", 1);
  EXPECT_EQ(Device().backend(), "far");
  EXPECT_EQ(near_device().backend(), "cpu");
  setenv("PANDO_BACKEND", "fra", 1);
  EXPECT_EQ(message([] { Device(); }), "PANDO_BACKEND: unknown backend 'fra'; did you mean 'far'?");
  setenv("PANDO_BACKEND", kept.c_str(), 1);
}

TEST(Backends, AnOpWithoutAKernelIsRefusedByName) {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  const Graph::Scope scope(graph, "layer");
  graph.add_output("y", ops::relu(x));
  EXPECT_EQ(message([&] { Program(graph, poor_device(), Variables()); }),
            "the backend 'poor' has no kernel for relu in 'layer': it is a test; use another backend");
}

TEST(Backends, TheCpuHasAKernelForEveryOpThatComputes) {
  const cpu::CpuBackend backend(1, "");
  for (const OpDefinition* op : all_ops()) {
    const bool computes = op->role == Role::compute && !op->is_strided;
    EXPECT_EQ(backend.why_unsupported({op, {}, {}, {}, ""}), computes ? "" : "the op has no kernel") << op->name;
  }
}

// y = tanh(x w + b), and a step of gradient descent.
Graph dense_step() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {3, 2});
  const Value w = ops::variable(graph, "w", DType::float32, {2, 2});
  const Value b = ops::variable(graph, "b", DType::float32, {2});
  const Value y = ops::tanh(ops::matmul(x, w) + b);
  const Value loss = ops::reduce_sum(y * y + y * 0.5 - ops::exp(y * 0.1));
  const std::vector<Value> slopes = gradients(loss, {w, b});
  graph.assign(w, ops::sgd_update(ops::constant(graph, Array::scalar(0.1f)), w, slopes[0], {}, {})[0]);
  graph.assign(b, ops::sgd_update(ops::constant(graph, Array::scalar(0.1f)), b, slopes[1], {}, {})[0]);
  graph.add_output("loss", loss, true);
  graph.add_output("y", y);
  return graph;
}

std::set<std::string> ops_of(const Program& program) {
  std::set<std::string> ops;
  for (const KernelInfo& kernel : program.kernels()) ops.insert(kernel.op);
  return ops;
}

TEST(Backends, GetWhatTheyAreCapableOf) {
  const Program rich(dense_step(), far_device(), Variables()), poor(dense_step(), poor_device(), Variables());
  EXPECT_TRUE(ops_of(rich).contains("matmul_update"));
  EXPECT_FALSE(ops_of(poor).contains("matmul_update"));
  // The bias, and tanh, are separate nodes instead of an epilogue.
  EXPECT_GT(poor.kernels().size(), rich.kernels().size());
  EXPECT_EQ(rich.plan_text().find("epilogue") == std::string::npos, false);
  EXPECT_EQ(poor.plan_text().find("epilogue") == std::string::npos, true);
}

TEST(FarDevice, GivesTheBitsOfTheCpu) {
  const auto train = [](const Device& device) {
    Variables variables;
    variables.set("w", Array::of<float>({0.5f, -0.25f, 0.125f, 1}, {2, 2}));
    Program program(dense_step(), device, variables);
    Feed feed(program, [](std::int64_t row, std::span<std::byte* const> feeds) {
      for (int i = 0; i < 6; ++i) reinterpret_cast<float*>(feeds[0])[i] = static_cast<float>(row % 5 + i) / 7;
      return true;
    });
    program.run(20, feed);
    std::vector<float> all = floats(variables.get("w"));
    for (const char* name : {"loss", "y"})
      for (float value : floats(program.output(name))) all.push_back(value);
    return all;
  };
  EXPECT_EQ(train(far_device()), train(near_device()));
}

TEST(FarDevice, SharesVariablesWithTheCpu) {
  Variables variables;
  Graph add;
  const Value w = ops::variable(add, "w", DType::float32, {});
  add.assign(w, w + 1.0);
  add.add_output("w", w);
  Program far(add, far_device(), variables), other(add, far_device(), variables), near(add, near_device(), variables);
  variables.set("w", Array::scalar(10.0f));
  for (int i = 0; i < 3; ++i) {
    far.run(2);
    near.run(3);
    other.run(1);
  }
  EXPECT_EQ(variables.get("w").item<float>(), 28);
  EXPECT_EQ(far.step().at("w").item<float>(), 28);
}

class MixedDevices : public DividedTest {};
INSTANTIATE_TEST_SUITE_P(Threads, MixedDevices, testing::Bool(), name_of_threads);

// Replicas and stages, each on its own kind of device, in every combination of two kinds.
TEST_P(MixedDevices, GiveTheBitsOfOneKind) {
  for (unsigned kinds = 0; kinds < 16; ++kinds) {
    std::vector<Device> mixed;
    for (unsigned i = 0; i < 4; ++i) mixed.push_back((kinds >> i & 1) != 0 ? far_device() : near_device());
    Variables variables;
    Program program(sum_step(2), mixed, {.replicas = 2, .accumulation = 2}, variables);
    Feed feed(program, rows_of_x(100));
    EXPECT_EQ(program.run(5, feed), 5);
    EXPECT_EQ(floats(variables.get("w")), (std::vector<float>{-30, -50}));
    variables.set("w", Array::of<float>({1, 1}, {2}));
    EXPECT_EQ(program.run(2, feed), 2);
    EXPECT_EQ(floats(variables.get("w")), (std::vector<float>{1 - 26, 1 - 20}));
    EXPECT_EQ(floats(program.output("sums")), (std::vector<float>{6, 16, 7, 17}));
  }
}

}  // namespace
}  // namespace pando
