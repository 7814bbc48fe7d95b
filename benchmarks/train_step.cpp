// SPDX-License-Identifier: Apache-2.0
// How close a training step comes to the machine: for each model the lowest time of a step, the fraction of the
// multiply-add peak measured beside it, the ratio to PyTorch where there is one, the gain of mixed_bfloat16, its
// kernels; and the speed of inference.
//
//   train_step [--alone] [--json FILE] [--kernels] [MODEL...]
//
// With --backend, a table that compares devices, and other libraries on the same GPU (backends.h). With --alone, other
// libraries are left out:
//
//   train_step --backend cuda,cpu [--alone] [--json FILE] [--kernels] [MODEL...]
#include <pando/ops/ops.h>
#include <pando/program/profile.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <tuple>

#include "backends.h"
#include "models.h"
#include "report/explain/peak.h"
#include "runner.h"

namespace {

using namespace pando;

double measure_compile(const std::string& name, const Device& device) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto start = Clock::now();
    const models::TrainingStep step = models::build(name);
    const Program program(step.graph, device, Variables());
    times.push_back(microseconds_since(start));
  }
  return times_of(std::move(times)).median;
}

struct Row {
  std::string name;
  // GFLOP/s of the machine just before or after, which neighbours may make slower for a while.
  double peak = 0;
  double megaflops = 0, megabytes = 0, compile = 0;
  Times one_tile = {}, all_tiles = {}, mixed = {};
  double latency = 0, throughput = 0;
  // Microseconds of other libraries on two threads, by the name of their column.
  std::map<std::string, double> others = {};
  std::vector<KernelTime> kernels = {}, mixed_kernels = {};

  double fraction() const { return megaflops / all_tiles.lowest / peak * 1e3; }
};

Row measure_model(const std::string& name, const Device& one, const Device& all) {
  const models::TrainingStep step = models::build(name);
  const auto peak = [&] { return measure_multiply_add_peak(all.tiles(), all.instruction_set()); };
  Row row{.name = name, .peak = peak(), .megaflops = step.megaflops, .compile = measure_compile(name, all)};
  row.one_tile = Runner(step, one).measure(10);
  Runner runner(step, all), mixed(step, all, {.precision = Precision::mixed_bfloat16});
  std::tie(row.all_tiles, row.mixed) = Runner::measure_in_turns(runner, mixed, 10);
  row.peak = std::max(row.peak, peak());
  row.megabytes = runner.megabytes();
  row.kernels = runner.kernel_times();
  row.mixed_kernels = mixed.kernel_times();
  row.latency = Runner(models::build_inference(name, 1), all).measure(1).lowest;
  row.throughput = 256e6 / Runner(models::build_inference(name, 256), all).measure(2).lowest;
  return row;
}

// How a step of other libraries is measured: a column's name, a script and its options.
struct Other {
  std::string name, script, options;
};

std::vector<Other> other_libraries(const Device& device) {
  if (device.backend() == "cuda") return {{"torch", PANDO_TORCH_STEPS, "--device cuda"}};
  // The quickest to compile first.
  return {{"torch", PANDO_TORCH_STEPS, ""},
          {"jax", PANDO_JAX_STEPS, "--cpu"},
          {"torch_compile", PANDO_TORCH_STEPS, "--compile"}};
}

void measure_others(Row& row, const Device& device) {
  for (const Other& other : other_libraries(device))
    for (const auto& [name, microseconds] : steps_of_python(other.script, other.options, {row.name}))
      row.others[other.name] = microseconds;
}

// How many times as long another library takes.
std::string ratio(const Row& row, const std::string& other) {
  const auto found = row.others.find(other);
  return found == row.others.end() ? "-" : fmt::format("{:.2f}x", found->second / row.all_tiles.lowest);
}

void print_row(const Row& row) {
  fmt::print(
      "{:<13}{:>7.0f}{:>8.1f}{:>9.2f}{:>11.1f}{:>11.1f}{:>5.0f}%{:>8.1f}%{:>9}{:>9}{:>9}{:>7.2f}x{:>11.1f}{:>12.0f}\n",
      row.name, row.megaflops, row.megabytes, row.compile / 1e3, row.one_tile.lowest, row.all_tiles.lowest,
      100 * row.all_tiles.spread, 100 * row.fraction(), ratio(row, "torch"), ratio(row, "torch_compile"),
      ratio(row, "jax"), row.all_tiles.lowest / row.mixed.lowest, row.latency, row.throughput);
}

std::string json_of(const std::vector<Row>& rows, const std::string& run) {
  std::vector<std::string> models;
  for (const Row& row : rows) {
    std::vector<std::string> others;
    for (const auto& [name, microseconds] : row.others)
      others.push_back(fmt::format(R"("{}": {:.1f})", name, microseconds));
    models.push_back(fmt::format(
        R"(  {{"model": "{}", "peak_gflops": {:.2f}, "megaflops": {:.3f}, "megabytes": {:.3f}, "compile_ms": {:.3f}, "one_tile_us": {:.3f}, "step_us": {:.3f}, "median_us": {:.3f}, "spread": {:.4f}, "of_peak": {:.4f}, "others_us": {{{}}}, "mixed_bfloat16_us": {:.3f}, "latency_us": {:.3f}, "samples_per_second": {:.0f},
   "kernels": {},
   "mixed_kernels": {}}})",
        row.name, row.peak, row.megaflops, row.megabytes, row.compile / 1e3, row.one_tile.lowest, row.all_tiles.lowest,
        row.all_tiles.median, row.all_tiles.spread, row.fraction(), fmt::join(others, ", "), row.mixed.lowest,
        row.latency, row.throughput, json_of_kernels(row.kernels), json_of_kernels(row.mixed_kernels)));
  }
  const double peak = std::ranges::max(rows, {}, &Row::peak).peak;
  return fmt::format("{{{}, \"peak_gflops\": {:.2f}, \"models\": [\n{}\n]}}\n", run, peak, fmt::join(models, ",\n"));
}

void print_titles() {
  fmt::print("{:<13}{:>7}{:>8}{:>9}{:>11}{:>11}{:>6}{:>9}{:>9}{:>9}{:>9}{:>8}{:>11}{:>12}\n", "training step", "MFLOP",
             "MB", "compile", "1 tile", "all tiles", "+-", "of peak", "torch", "compiled", "jax", "bf16", "batch 1",
             "batch 256");
  fmt::print("{:<13}{:>7}{:>8}{:>9}{:>11}{:>11}{:>6}{:>9}{:>9}{:>9}{:>9}{:>8}{:>11}{:>12}\n", "", "", "", "ms", "us",
             "us", "", "", "", "", "", "", "us", "samples/s");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::string json, backends;
  bool alone = false, kernels = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" && i + 1 < argc) json = argv[++i];
    else if (word == "--backend" && i + 1 < argc) backends = argv[++i];
    else if (word == "--alone") alone = true;
    else if (word == "--kernels") kernels = true;
    else if (word.starts_with("-")) {
      std::cerr << "usage: train_step [--backend NAME,...] [--alone] [--json FILE] [--kernels] [MODEL...]\n";
      return 2;
    } else names.push_back(word);
  }
  try {
    if (!backends.empty()) {
      compare_backends({backends, names, alone, kernels, json, json_of_run(argc, argv, Device({.backend = "cpu"}))});
      return 0;
    }
    if (names.empty()) names = models::names();
    const Device one({.tiles = 1}), all;
    fmt::print("{} tiles, {}\n", all.tiles(), all.instruction_set());
    print_titles();
    std::vector<Row> rows;
    for (const std::string& name : names) {
      rows.push_back(measure_model(name, one, all));
      // Right after it, as the machine may be slower some minutes later.
      if (!alone) measure_others(rows.back(), all);
      print_row(rows.back());
      std::fflush(stdout);
      // The file holds what is measured so far: a run that is stopped keeps it.
      if (!json.empty()) store(json, json_of(rows, json_of_run(argc, argv, all)));
    }
    if (kernels)
      for (const Row& row : rows) {
        print_kernels(row.name, row.kernels);
        print_kernels(row.name + ", mixed_bfloat16", row.mixed_kernels);
      }
  } catch (const Error& error) {
    std::cerr << "train_step: " << error.what() << "\n";
    return 1;
  }
}
