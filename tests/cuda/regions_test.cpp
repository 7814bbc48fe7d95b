// SPDX-License-Identifier: Apache-2.0
// Regions: which calls they take, and their kernels, run on the host, against the CPU backend.
#include <gtest/gtest.h>
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <cmath>
#include <cstring>
#include <set>

#include "backends/cuda/regions/runtime_compiler.h"
#include "compiler/compile.h"
#include "tests/cuda/emulated_region.h"

namespace pando::cuda {
namespace {

// Numbers between -limit and limit that look random.
Array noise(const Type& type, double limit, std::uint32_t seed) {
  Array array(DType::float32, type.shape);
  std::uint32_t state = seed * 2654435761u + 1;
  for (float *p = array.mutable_data<float>(), *end = p + array.elements(); p != end; ++p) {
    state = state * 1664525u + 1013904223u;
    *p = static_cast<float>((static_cast<double>(state >> 8) / 8388608.0 - 1.0) * limit);
  }
  return array;
}
Array labels(const Type& type) {
  Array array(DType::int32, type.shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
  return array;
}
Array values_for(const Type& type, double limit, std::uint32_t seed) {
  return type.dtype == DType::float32 ? noise(type, limit, seed) : labels(type);
}

double distance(const Array& a, const Array& b) {
  double difference = 0, size = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.data<float>()[i], y = b.data<float>()[i];
    difference += (x - y) * (x - y);
    size += y * y;
    if (std::isnan(x)) return 1e9;
  }
  return std::sqrt(difference / (size + 1e-30));
}

// A model that grows layer by layer; `loss` and an update of all parameters end it.
struct Model {
  Graph graph;
  std::vector<Value> parameters;
  Value x;

  Model(std::int64_t batch, const Shape& image) {
    Shape shape = {batch};
    for (std::int64_t size : image) shape.append(size);
    x = ops::input(graph, "x", DType::float32, shape);
  }
  Value parameter(const Shape& shape) {
    parameters.push_back(ops::variable(graph, "p" + std::to_string(parameters.size()), DType::float32, shape));
    return parameters.back();
  }
  Model& conv(std::int64_t filters, std::int64_t size, const ops::ConvOptions& options = {}) {
    x = ops::conv2d(x, parameter({size, size, x.shape()[3], filters}), options);
    x = x + parameter({filters});
    return *this;
  }
  Model& relu() { return x = ops::relu(x), *this; }
  Model& pool(const ops::PoolOptions& options = {}) { return x = ops::max_pool(x, options), *this; }
  Model& flatten() { return x = ops::reshape(x, {x.shape()[0], -1}), *this; }
  Model& dense(std::int64_t units) {
    x = ops::matmul(x, parameter({x.shape()[1], units}));
    x = x + parameter({units});
    return *this;
  }
  // The mean over the batch.
  Value cross_entropy() {
    const Value target = ops::input(graph, "labels", DType::int32, {x.shape()[0]});
    return ops::reduce_mean(ops::sparse_softmax_cross_entropy(x, target));
  }
  void descend(const Value& loss) {
    graph.add_output("loss", loss);
    move_along(loss);
  }
  void move_along(const Value& loss) {
    const std::vector<Value> found = gradients(loss, parameters);
    const Value rate = ops::scalar(x, 0.1);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      graph.assign(parameters[i], ops::sgd_update(rate, parameters[i], found[i], {})[0]);
  }
};

// Convolutions with pooling and dropout.
struct PooledConvolutions : Model {
  PooledConvolutions() : Model(64, {14, 14, 1}) {
    conv(8, 3).relu().pool().conv(12, 3).relu().pool().flatten();
    x = ops::dropout(x, ops::counter(graph), 0.5);
    dense(10).descend(cross_entropy());
  }
};

constexpr RegionLimits h200 = {.multiprocessors = 132, .shared_bytes = 227 * 1024, .most_ranks = 8};

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

// The count of steps that Adam reads moves in the same kernels.
TEST(Regions, Adam) {
  Model model(16, {20});
  model.dense(12).relu().dense(6);
  const Value loss = model.cross_entropy();
  model.graph.add_output("loss", loss);
  const std::vector<Value> found = gradients(loss, model.parameters);
  const Value rate = ops::scalar(model.x, 0.1), count = ops::variable(model.graph, "count", DType::int32, {});
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const Shape& shape = model.parameters[i].shape();
    const Value m = ops::variable(model.graph, "m" + std::to_string(i), DType::float32, shape);
    const Value v = ops::variable(model.graph, "v" + std::to_string(i), DType::float32, shape);
    const std::vector<Value> moved = ops::adam_update(rate, count, model.parameters[i], found[i], {m, v}, {});
    model.graph.assign(model.parameters[i], moved[0]);
    model.graph.assign(m, moved[1]);
    model.graph.assign(v, moved[2]);
  }
  model.graph.assign(count, count + 1.0);
  EXPECT_GT(compare(model, "adam"), 0);
}

// The rate and the step are made of the counter, as Keras makes them: blocks that update make them for themselves.
TEST(Regions, NumbersThatOnlyUpdatesRead) {
  Model model(16, {20});
  model.dense(12).relu().dense(6);
  const Value loss = model.cross_entropy();
  model.graph.add_output("loss", loss);
  const std::vector<Value> found = gradients(loss, model.parameters);
  const Value update = ops::reshape(ops::slice(ops::counter(model.graph), {0}, {1}), {});
  const Value step = ops::cast(update, DType::float64);
  const Value rate =
      ops::cast(ops::scalar(step, 0.1) / (ops::cast(update, DType::float64) * 0.5 + 1.0), DType::float32);
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const Shape& shape = model.parameters[i].shape();
    const Value m = ops::variable(model.graph, "m" + std::to_string(i), DType::float32, shape);
    const Value v = ops::variable(model.graph, "v" + std::to_string(i), DType::float32, shape);
    const std::vector<Value> moved = ops::adam_update(rate, step, model.parameters[i], found[i], {m, v}, {});
    model.graph.assign(model.parameters[i], moved[0]);
    model.graph.assign(m, moved[1]);
    model.graph.assign(v, moved[2]);
  }
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

// A step that is recorded computes the same, and its marks tell how many phases each call took.
struct RecordedStep {
  Plan plan;
  PlanValues values;
  std::optional<RegionProgram> program;
  std::vector<CallCycles> region = {}, update = {};

  RecordedStep(const Model& model, const std::string& test, const RegionLimits& limits = h200)
      : plan(compile(model.graph, {})), values(plan), program(make_region(plan, values, limits)) {
    if (!program) throw std::runtime_error(test + " did not become a region");
    EmulatedRegion plain(plan, *program, test), recorded(plan, *program, test + "_recorded", true);
    for (EmulatedRegion* own : {&plain, &recorded}) {
      for (std::size_t i = 0; i < plan.variables.size(); ++i)
        own->write(plan.variables[i].buffer, values_for(plan.variables[i].type, 0.3, static_cast<std::uint32_t>(i)));
      for (const Port& input : plan.inputs) own->write(input.buffer, values_for(input.type, 1.0, 99));
      own->run(false);
    }
    for (const VariablePort& variable : plan.variables) {
      const Array a = plain.read(variable.buffer, variable.type), b = recorded.read(variable.buffer, variable.type);
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << variable.name;
    }
    region = recorded.cycles_of_region();
    update = recorded.cycles_of_update();
  }

  // In the order in which its phases run: the kernel has the first ones, and calls functions one after the other.
  std::string source() const {
    std::string text = program->sources.back();
    for (std::size_t i = 0; i + 1 < program->sources.size(); ++i) text += program->sources[i];
    return text;
  }
  std::string layer(const CallCycles& call) const { return values.calls[call.number]->layer; }
  double of_layer(const std::vector<CallCycles>& calls, const std::string& name) const {
    double sum = 0;
    for (const CallCycles& call : calls)
      if (layer(call) == name) sum += call.cycles;
    return sum;
  }
  double all(const std::vector<CallCycles>& calls) const {
    double sum = 0;
    for (const CallCycles& call : calls) sum += call.cycles;
    return sum;
  }
};
std::size_t count_of(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Regions, RecordTheirLayers) {
  Model model(11, {8, 8, 2});
  {
    const Graph::Scope scope(model.graph, "first");
    model.conv(5, 3).relu().pool().flatten();
  }
  {
    const Graph::Scope scope(model.graph, "second");
    model.dense(4);
  }
  {
    const Graph::Scope scope(model.graph, "loss");
    model.x = model.cross_entropy();
  }
  model.descend(model.x);
  const RecordedStep step(model, "layers", {.multiprocessors = 4, .shared_bytes = 96 * 1024, .most_ranks = 1});
  // The first of 4 clusters has 3 of 11 samples.
  EXPECT_EQ(step.program->clusters, 4);
  EXPECT_EQ(step.all(step.region), 3.0 * static_cast<double>(count_of("PANDO_PHASE(", step.source())));
  for (const char* layer : {"first", "second", "loss"}) EXPECT_GT(step.of_layer(step.region, layer), 0) << layer;
  EXPECT_GT(step.of_layer(step.update, "second"), 0) << "the product that is its gradient";
  EXPECT_GT(step.of_layer(step.update, "loss"), 0) << "its mean";
  EXPECT_GT(step.of_layer(step.update, "update"), 0) << to_string(step.plan);
  // Each block has one or two phases.
  EXPECT_GE(step.all(step.update), step.program->update_blocks);
  EXPECT_LE(step.all(step.update), 2 * step.program->update_blocks);
}

// Each mark comes after all phases of its own call and after no others but those that stage what it reads.
TEST(Regions, RecordEachCallThatTheyHave) {
  const RecordedStep step(PooledConvolutions(), "calls");
  const std::string source = step.source();
  const std::map<std::string_view, const char*> texts = {{"conv2d", "convolve"},
                                                         {"conv2d_max_pool", "convolve"},
                                                         {"conv2d_weight_gradient", "_filter<"},
                                                         {"matmul", "multiply_"},
                                                         {"relu_gradient", "scalar::relu_gradient"},
                                                         {"sparse_softmax_cross_entropy", "sparse_cross_entropy"}};
  std::set<std::size_t> recorded;
  std::set<std::string_view> seen;
  std::size_t at = source.find("PANDO_PHASE(");
  for (const CallCycles& call : step.region) {
    EXPECT_TRUE(recorded.empty() || call.number > *recorded.rbegin()) << "calls run in order";
    recorded.insert(call.number);
    const std::size_t mark = source.find("PANDO_MARK(", at);
    const std::string phases = source.substr(at, mark - at);
    at = mark + 1;
    EXPECT_EQ(call.cycles, static_cast<double>(count_of("PANDO_PHASE(", phases))) << phases;
    const auto text = texts.find(step.values.calls[call.number]->op->name);
    if (text == texts.end()) continue;
    EXPECT_NE(phases.find(text->second), std::string::npos) << text->first << ": " << phases;
    seen.insert(text->first);
  }
  EXPECT_GE(seen.size(), 4u) << to_string(step.plan);
  EXPECT_EQ(count_of("PANDO_PHASE(", source.substr(at)), 0u);
  for (const CallCycles& call : step.update) recorded.insert(call.number);
  // Convolutions read the gradients of poolings as values and positions.
  for (const int call : step.program->calls)
    EXPECT_EQ(recorded.contains(static_cast<std::size_t>(call)),
              step.values.calls[static_cast<std::size_t>(call)]->op->name != "max_pool_gradient")
        << step.values.calls[static_cast<std::size_t>(call)]->op->name;
}

// NVRTC needs no GPU. Sources that are compiled apart fit together, and make a kernel when they are joined.
TEST(Regions, AreCompiledByNvrtc) {
  if (!why_no_runtime_compiler().empty()) GTEST_SKIP() << why_no_runtime_compiler();
  const Plan plan = compile(PooledConvolutions().graph, {});
  const std::optional<RegionProgram> program = make_region(plan, PlanValues(plan), h200);
  ASSERT_TRUE(program);
  ASSERT_GT(program->sources.size(), 1u);
  const std::string kernel = compile_sources(program->sources, program->threads, 90);
  EXPECT_NE(kernel.find(".text.region"), std::string::npos);
  // Phases that are functions are in it.
  EXPECT_NE(kernel.find("phases_"), std::string::npos);
  EXPECT_EQ(kernel, compile_sources(program->sources, program->threads, 90));
  const std::string recorded = compile_sources(marked(program->sources), program->threads, 90);
  EXPECT_NE(recorded.find(".text.region"), std::string::npos);
  std::string joined;
  for (const std::string& source : program->sources) joined += source;
  EXPECT_NE(compile_sources({joined}, program->threads, 90).find(".text.region"), std::string::npos);
  for (const std::string& source : {program->update_source, marked(program->update_source)})
    EXPECT_NE(compile_sources({source}, program->update_threads, 90).find(".text.update"), std::string::npos);
}

// The kernel begins with the first phases and calls functions of other sources for the others.
TEST(Regions, AreDividedIntoSources) {
  const Plan plan = compile(PooledConvolutions().graph, {});
  const std::optional<RegionProgram> program = make_region(plan, PlanValues(plan), h200);
  ASSERT_TRUE(program);
  const std::string& kernel = program->sources.back();
  EXPECT_NE(kernel.find("PANDO_PHASE(stage"), std::string::npos) << kernel;
  EXPECT_EQ(kernel.find("PANDO_PHASE(sparse_cross_entropy"), std::string::npos) << kernel;
  std::size_t functions = 0;
  for (const std::string& source : program->sources) {
    if (&source == &kernel) continue;
    EXPECT_EQ(source.find("PANDO_KERNEL"), std::string::npos);
    for (std::size_t at = source.find("PANDO_FUNCTION"); at != std::string::npos;
         at = source.find("PANDO_FUNCTION", at + 1)) {
      ++functions;
      const std::string prototype = source.substr(at, source.find(" {", at) - at);
      EXPECT_NE(kernel.find(prototype + ";"), std::string::npos) << prototype;
      const std::size_t name = prototype.find("phases_");
      const std::string call = "    " + prototype.substr(name, prototype.find('(') - name) + "(sample";
      EXPECT_NE(kernel.find(call), std::string::npos) << call;
    }
  }
  EXPECT_EQ(functions, program->sources.size() - 1);

  Model small(16, {4});
  small.dense(3).descend(small.cross_entropy());
  const Plan small_plan = compile(small.graph, {});
  const std::optional<RegionProgram> whole = make_region(small_plan, PlanValues(small_plan), h200);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->sources.size(), 1u) << whole->sources.back();
}

TEST(Regions, AreNotForWeightsThatAreReadTooOften) {
  Model model(128, {512});
  model.dense(1024).relu().dense(1024).relu().dense(10).descend(model.cross_entropy());
  EXPECT_EQ(compare(model, "large"), 0);
}

}  // namespace
}  // namespace pando::cuda
