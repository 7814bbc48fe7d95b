// Prints, for each of the four training steps: compile time from graph (gradients included) to runnable program, time a
// step on one and on all cores, and the fraction of the multiply-add peak measured in the same run.
#include <pando/ops.h>
#include <pando/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "models.h"

namespace {

using namespace pando;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// GFLOP/s of a large matmul on this device: what the kernels themselves can reach at best.
double measure_matmul(const Device& device) {
  constexpr std::int64_t n = 768;
  Graph graph;
  const Value a = ops::variable(graph, "a", DType::float32, {n, n});
  const Value b = ops::variable(graph, "b", DType::float32, {n, n});
  graph.add_output("c", ops::matmul(a, b));
  Program program(graph, device, Variables());
  program.run(1);
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    const auto start = Clock::now();
    program.run(2);
    times.push_back(microseconds_since(start) / 2);
  }
  return 2.0 * n * n * n / median(times) / 1e3;
}

// Random-looking weights and images: zeros would make the arithmetic too easy.
Array noise(const Shape& shape, double limit) {
  Array array(DType::float32, shape);
  std::uint32_t state = 1;
  for (float *p = array.mutable_data<float>(), *end = p + array.elements(); p != end; ++p) {
    state = state * 1664525u + 1013904223u;
    *p = static_cast<float>((static_cast<double>(state >> 8) / 8388608.0 - 1.0) * limit);
  }
  return array;
}

double measure_step(const models::TrainingStep& step, const Device& device) {
  Variables variables;
  for (const auto& parameter : step.parameters) variables.set(parameter.name, noise(parameter.shape, 0.05));
  Program program(step.graph, device, variables);
  Shape shape = {step.batch};
  for (std::int64_t size : step.image) shape.append(size);
  const Array images = noise(shape, 1.0);
  Feed feed(program, [&](std::int64_t, std::span<std::byte* const> feeds) {
    std::memcpy(feeds[0], images.raw(), images.bytes());
    std::memset(feeds[1], 0, static_cast<std::size_t>(step.batch) * sizeof(std::int32_t));
    return true;
  });
  program.run(5, feed);
  std::vector<double> times;
  const auto begin = Clock::now();
  for (int i = 0; i < 15 || (microseconds_since(begin) < 5e5 && i < 200); ++i) {
    const auto start = Clock::now();
    program.run(10, feed);
    times.push_back(microseconds_since(start) / 10);
  }
  return median(times);
}

double measure_compile(const std::string& name, const Device& device) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto start = Clock::now();
    const models::TrainingStep step = models::build(name);
    const Program program(step.graph, device, Variables());
    times.push_back(microseconds_since(start));
  }
  return median(times);
}

}  // namespace

int main() {
  const Device one({.tiles = 1}), all;
  const double peak_one = measure_matmul(one), peak_all = measure_matmul(all);
  fmt::print("{} tiles, {}; matmul 768: {:.1f} GFLOP/s on one tile, {:.1f} on all\n", all.tiles(),
             all.instruction_set(), peak_one, peak_all);
  fmt::print("{:<13}{:>8}{:>12}{:>12}{:>12}{:>14}\n", "training step", "MFLOP", "compile ms", "1 tile us", "all us",
             "of matmul 768");
  const std::pair<const char*, double> rows[] = {
      {"mlp", 13}, {"keras_cnn", 911}, {"fashion", 106}, {"poptorch_cnn", 123}};
  for (const auto& [name, megaflop] : rows) {
    const models::TrainingStep step = models::build(name);
    const double single = measure_step(step, one), full = measure_step(step, all);
    fmt::print("{:<13}{:>8.0f}{:>12.2f}{:>12.1f}{:>12.1f}{:>13.1f}%\n", name, megaflop,
               measure_compile(name, all) / 1e3, single, full, 100 * megaflop * 1e3 / full / peak_all);
  }
}
