// SPDX-License-Identifier: Apache-2.0
// How a training step gains from more cores: for each model the time on 1, 2, 4, ... tiles, up to one for each core,
// the number that `tiles = 0` chooses, and how many times as fast as one tile the best of them is. The first row says
// what the machine itself gains: cores may share their multipliers or become slower when all of them work.
//
//   scaling [--json FILE] [--kernels] [MODEL...]
#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "models.h"
#include "report/explain/peak.h"
#include "runner.h"

namespace {

using namespace pando;
struct Measured {
  int tiles = 0;
  double microseconds = 0;
  std::vector<KernelTime> kernels = {};
};

// Multiply-adds in registers.
struct Peak {
  int tiles = 0;
  double gflops = 0;
};

struct Row {
  std::string model;
  std::vector<Measured> measured = {};
  // With tiles = 0.
  Measured chosen = {};

  const Measured& best() const {
    return *std::min_element(measured.begin(), measured.end(),
                             [](const Measured& a, const Measured& b) { return a.microseconds < b.microseconds; });
  }
};

std::vector<int> tile_counts(int cores) {
  std::vector<int> counts;
  for (int tiles = 1; tiles < cores; tiles *= 2) counts.push_back(tiles);
  // With one core left for the thread that fills the feed.
  if (cores > 4) counts.push_back(cores - 1);
  counts.push_back(cores);
  return counts;
}

std::vector<Peak> measure_peaks(const Device& all) {
  std::vector<Peak> peaks;
  for (int tiles : tile_counts(all.tiles()))
    peaks.push_back({tiles, measure_multiply_add_peak(tiles, std::string(all.instruction_set()))});
  return peaks;
}

void print_peaks(const std::vector<Peak>& peaks) {
  fmt::print("{:<13}", "GFLOP/s");
  for (const Peak& peak : peaks) fmt::print("{:>10.1f}", peak.gflops);
  fmt::print("{:>10}{:>8.2f}x on {}, the machine's own gain\n", "", peaks.back().gflops / peaks.front().gflops,
             peaks.back().tiles);
}

Row measure_model(const std::string& name, int cores) {
  const models::TrainingStep step = models::build(name);
  Row row = {.model = name};
  for (int tiles : tile_counts(cores)) {
    Runner runner(step, Device({.tiles = tiles}));
    const double microseconds = runner.measure(10).lowest;
    row.measured.push_back({tiles, microseconds, runner.kernel_times()});
  }
  Runner runner(step, Device());
  row.chosen = {runner.tiles(), runner.measure(10).lowest};
  return row;
}

void print_row(const Row& row) {
  fmt::print("{:<13}", row.model);
  for (const Measured& measured : row.measured) fmt::print("{:>10.1f}", measured.microseconds);
  fmt::print("{:>10.1f}{:>8.2f}x on {}\n", row.chosen.microseconds,
             row.measured.front().microseconds / row.best().microseconds, row.best().tiles);
  std::fflush(stdout);
}

void print_kernels(const Row& row) {
  fmt::print("\n{}: a kernel's time on each number of tiles\n", row.model);
  for (std::size_t k = 0; k < row.measured.front().kernels.size(); ++k) {
    const KernelTime& kernel = row.measured.front().kernels[k];
    if (kernel.microseconds < 0.005 * row.measured.front().microseconds && kernel.op != "barrier") continue;
    fmt::print("  {:<33}{:<24}", kernel.op, kernel.name);
    for (const Measured& measured : row.measured)
      if (k < measured.kernels.size()) fmt::print("{:>9.1f}", measured.kernels[k].microseconds);
    fmt::print("\n");
  }
}

std::string json_of(const std::vector<Peak>& peaks, const std::vector<Row>& rows, const std::string& run) {
  std::vector<std::string> gflops, models;
  for (const Peak& peak : peaks)
    gflops.push_back(fmt::format("{{\"tiles\": {}, \"gflops\": {:.1f}}}", peak.tiles, peak.gflops));
  for (const Row& row : rows) {
    std::vector<std::string> times;
    for (const Measured& measured : row.measured)
      times.push_back(fmt::format("{{\"tiles\": {}, \"step_us\": {:.3f},\n     \"kernels\": {}}}", measured.tiles,
                                  measured.microseconds, json_of_kernels(measured.kernels)));
    models.push_back(
        fmt::format("  {{\"model\": \"{}\", \"chosen_tiles\": {}, \"chosen_us\": {:.3f}, \"times\": [\n    {}]}}",
                    row.model, row.chosen.tiles, row.chosen.microseconds, fmt::join(times, ",\n    ")));
  }
  return fmt::format("{{{}, \"peaks\": [{}], \"models\": [\n{}\n]}}\n", run, fmt::join(gflops, ", "),
                     fmt::join(models, ",\n"));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::string json;
  bool kernels = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" && i + 1 < argc) json = argv[++i];
    else if (word == "--kernels") kernels = true;
    else if (word.starts_with("-")) {
      std::cerr << "usage: scaling [--json FILE] [--kernels] [MODEL...]\n";
      return 2;
    } else names.push_back(word);
  }
  try {
    if (names.empty()) names = models::names();
    const Device all;
    fmt::print("{}; microseconds of a step, the lowest, by the number of tiles\n{:<13}", all.instruction_set(), "");
    for (int tiles : tile_counts(all.tiles())) fmt::print("{:>10}", tiles);
    fmt::print("{:>10}{:>9}\n", "chosen", "best");
    const std::vector<Peak> peaks = measure_peaks(all);
    print_peaks(peaks);
    std::vector<Row> rows;
    for (const std::string& name : names) {
      rows.push_back(measure_model(name, all.tiles()));
      print_row(rows.back());
      // A run that is stopped keeps the rows that it printed.
      if (!json.empty()) store(json, json_of(peaks, rows, json_of_run(argc, argv, all)));
    }
    if (kernels)
      for (const Row& row : rows) print_kernels(row);
  } catch (const Error& error) {
    std::cerr << "scaling: " << error.what() << "\n";
    return 1;
  }
}
