// SPDX-License-Identifier: Apache-2.0
// Barriers of regions: all threads and clusters of a kernel run at once as threads of the host, under the thread
// sanitizer, which finds accesses to shared and global memory that no barrier orders.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/compile.h"
#include "tests/cuda/region_models.h"

namespace pando::cuda {
namespace {

// More threads would take longer and find the same.
constexpr int threads_of_block = 4;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Compiles the source with the thread sanitizer and runs it. What the sanitizer says, empty if it finds nothing.
std::string run_sanitized(const std::string& source, const std::string& name, const std::string& emulation) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path + ".cpp") << source;
  const std::string compile = fmt::format(
      "{0} -std=c++20 -O1 -g1 -w -fsanitize=thread '-DPANDO_EMULATION=<tests/cuda/{1}>' -I {2}/src -I {2} -o {3} "
      "{3}.cpp -pthread",
      PANDO_TEST_COMPILER, emulation, PANDO_TEST_SOURCES, path);
  if (std::system(compile.c_str()) != 0) throw std::runtime_error("cannot compile " + path + ".cpp");
  const int status = std::system((path + " 2> " + path + ".log").c_str());
  return status == 0 ? "" : fmt::format("status {}\n{}", status, text_of(path + ".log"));
}

// Why the thread sanitizer cannot be used: its memory must be where it expects it.
std::string why_no_sanitizer() {
  static const std::string why = [] {
    try {
      return run_sanitized("int main() {}\n", "sanitizer", "emulated_loops.h");
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
  }();
  return why;
}

// A program that runs all clusters of a kernel at once. Races do not depend on what is in memory, which is zero.
std::string launcher(const Plan& plan, const RegionProgram& program, const std::string& kernel, int clusters, int ranks,
                     std::size_t shared_bytes) {
  std::vector<std::size_t> begins;
  std::size_t end = 64;
  const auto take = [&](std::size_t bytes) { return std::exchange(end, end + (bytes + 63) / 64 * 64); };
  for (const Buffer& buffer : plan.buffers) begins.push_back(take(buffer.bytes));
  const std::size_t scratch = take(program.scratch_bytes);
  std::vector<std::size_t> places;
  for (const RegionPointer& pointer : program.order) {
    if (pointer.kind == RegionPointer::Kind::scratch) {
      places.push_back(scratch + pointer.index);
      continue;
    }
    const bool is_output = pointer.kind == RegionPointer::Kind::output;
    const auto number = static_cast<std::size_t>((is_output ? program.outputs : program.inputs)[pointer.index].buffer);
    // use_regions gives results memory of their own.
    const bool moves = is_output && plan.buffers[number].kind == Buffer::Kind::arena;
    places.push_back(moves ? take(plan.buffers[number].bytes) : begins[number]);
  }
  return fmt::format(R"(
#include <cstdlib>
#include <thread>
#include <vector>
int main() {{
  char* const memory = static_cast<char*>(std::calloc({}, 1));
  std::vector<char*> pointers;
  for (const long place : std::initializer_list<long>{{{}}}) pointers.push_back(memory + place);
  std::vector<std::thread> clusters;
  for (int cluster = 0; cluster < {}; ++cluster)
    clusters.emplace_back([&, cluster] {{
      ::{}(pointers.data(), cluster, static_cast<unsigned char*>(std::calloc({}, {})), {}, false);
    }});
  for (std::thread& cluster : clusters) cluster.join();
}}
)",
                     end, fmt::join(places, ", "), clusters, kernel, ranks, shared_bytes, shared_bytes);
}

// Both kernels of a step. Of the one that updates, a block is one thread: its blocks are what can race.
struct Races {
  Plan plan;
  std::optional<RegionProgram> program;

  Races(const Model& model, const RegionLimits& limits)
      : plan(compile(model.graph, {})), program(make_region(plan, PlanValues(plan), limits)) {
    if (!program) throw std::runtime_error("the model did not become a region");
  }
  std::string source_of_region() const {
    std::string all;
    for (const std::string& source : program->sources) all += source;
    const std::string own = fmt::format("#define PANDO_THREADS {}\n", program->threads),
                      fewer = fmt::format("#define PANDO_THREADS {}\n", threads_of_block);
    for (std::size_t at = 0; (at = all.find(own, at)) != std::string::npos;) all.replace(at, own.size(), fewer);
    return all + launcher(plan, *program, "region", program->clusters, program->ranks,
                          (program->shared_bytes + 63) / 64 * 64);
  }
  std::string in_region(const std::string& test) const {
    return run_sanitized(source_of_region(), test + "_region", "emulated_threads.h");
  }
  std::string in_update(const std::string& test) const {
    if (program->update_source.empty()) return "";
    return run_sanitized(program->update_source + launcher(plan, *program, "update", program->update_blocks, 1, 64),
                         test + "_update", "emulated_loops.h");
  }
};

// Four samples take clusters of four blocks each.
constexpr RegionLimits small_gpu = {.multiprocessors = 16, .shared_bytes = 227 * 1024, .most_ranks = 4};

void expect_no_races(const Model& model, const std::string& test, const RegionLimits& limits = small_gpu) {
  if (!why_no_sanitizer().empty()) GTEST_SKIP() << why_no_sanitizer();
  const Races races(model, limits);
  EXPECT_EQ(races.program->ranks, limits.most_ranks);
  EXPECT_EQ(races.in_region(test), "");
  EXPECT_EQ(races.in_update(test), "");
}

struct SmallConvolutions : Model {
  SmallConvolutions() : Model(4, {8, 8, 2}) {
    conv(4, 3).relu().pool().conv(4, 2).relu().flatten();
    x = ops::dropout(x, ops::counter(graph), 0.5);
    dense(10).descend(cross_entropy());
  }
};

TEST(RegionRaces, NoneInConvolutionsWithPooling) { expect_no_races(SmallConvolutions(), "races_pooled"); }

TEST(RegionRaces, NoneInStridesAndResidualConnections) {
  Model model(4, {9, 8, 3});
  model.conv(4, 3, {.strides = {2, 2}, .padding = ops::Padding::same}).relu();
  const Value shortcut = model.x;
  model.conv(4, 3, {.padding = ops::Padding::same}).relu().conv(4, 3, {.padding = ops::Padding::same});
  model.x = ops::transpose(ops::relu(model.x + shortcut), {0, 3, 1, 2});
  model.flatten().dense(5).descend(model.cross_entropy());
  expect_no_races(model, "races_residual");
}

TEST(RegionRaces, NoneInAdamOfAPerceptron) { expect_no_races(PerceptronWithAdam(4, 64), "races_adam"); }

TEST(RegionRaces, NoneInBlocksThatTakeSeveralSamples) {
  expect_no_races(SmallConvolutions(), "races_samples",
                  {.multiprocessors = 2, .shared_bytes = 227 * 1024, .most_ranks = 1});
}

// A kernel that lacks a barrier has races.
TEST(RegionRaces, AreFoundWhereABarrierIsMissing) {
  if (!why_no_sanitizer().empty()) GTEST_SKIP() << why_no_sanitizer();
  const std::string source = Races(SmallConvolutions(), small_gpu).source_of_region();
  for (const std::string barrier : {"PANDO_OWN_BARRIER", "PANDO_CLUSTER_BARRIER"}) {
    std::string broken = source;
    const std::size_t at = broken.find(barrier);
    ASSERT_NE(at, std::string::npos) << source;
    broken.replace(at, barrier.size(), "");
    EXPECT_NE(run_sanitized(broken, "races_broken", "emulated_threads.h").find("data race"), std::string::npos)
        << barrier;
  }
}

}  // namespace
}  // namespace pando::cuda
