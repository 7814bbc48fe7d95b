// SPDX-License-Identifier: Apache-2.0
// The sources of regions: how they are divided and compiled, and the marks of those of a recorded step.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "backends/cuda/regions/runtime_compiler.h"
#include "compiler/compile.h"
#include "tests/cuda/emulated_region.h"
#include "tests/cuda/region_models.h"

namespace pando::cuda {
namespace {

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
  // Convolutions read the gradients of poolings as values and positions; elementwise calls follow others.
  for (const int call : step.program->calls) {
    const std::string_view name = step.values.calls[static_cast<std::size_t>(call)]->op->name;
    EXPECT_EQ(recorded.contains(static_cast<std::size_t>(call)), name != "max_pool_gradient" && name != "relu_gradient")
        << name;
  }
}

// Where copies to shared memory begin and end, in bytes, by the calls of stage().
std::vector<std::pair<long, long>> copied_places(const std::string& source) {
  std::vector<std::pair<long, long>> places;
  const std::string stage = "stage<float, ";
  for (std::size_t at = source.find(stage); at != std::string::npos; at = source.find(stage, at + 1)) {
    const long elements = std::strtol(source.c_str() + at + stage.size(), nullptr, 10);
    const std::size_t end = std::min(source.find("; ", at), source.find(")\n", at));
    const long begin = std::strtol(source.c_str() + source.rfind(", ", end) + 2, nullptr, 10);
    places.emplace_back(begin, begin + elements * static_cast<long>(sizeof(float)));
  }
  return places;
}

// Racecheck of compute-sanitizer takes it for a race if another block writes there after one barrier of the cluster.
TEST(Regions, BlocksDoNotWriteAtOnceWhereOthersHaveCopied) {
  Model model(8, {7, 6, 2});
  // The convolution does not read it, so its memory would be free then.
  const Value weights = ops::input(model.graph, "weights", DType::float32, {8, 400});
  model.graph.add_output("sum", ops::reduce_sum(weights));
  model.conv(3, 3).flatten().dense(3).descend(model.cross_entropy());
  const Plan plan = compile(model.graph, {});
  const std::optional<RegionProgram> program = make_region(plan, PlanValues(plan), h200);
  ASSERT_TRUE(program);
  ASSERT_GT(program->ranks, 1);
  const std::string& source = program->sources.back();
  const std::size_t exchange = source.find("PANDO_PHASE(exchange_results<");
  ASSERT_NE(exchange, std::string::npos) << source;
  EXPECT_EQ(count_of("PANDO_CLUSTER_BARRIER", source.substr(0, exchange)), 1u) << source;
  const long begin = std::strtol(source.c_str() + source.find("(t, ", exchange) + 4, nullptr, 10);
  const long end = begin + 5 * 4 * 3 * static_cast<long>(sizeof(float));
  const auto places = copied_places(source);
  EXPECT_GE(places.size(), 3u) << source;
  for (const auto& [copy_begin, copy_end] : places) EXPECT_TRUE(end <= copy_begin || copy_end <= begin) << source;
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

}  // namespace
}  // namespace pando::cuda
