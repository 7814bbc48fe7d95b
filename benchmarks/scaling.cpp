// SPDX-License-Identifier: Apache-2.0
// How a training step gains from more cores: for each model the time on 1, 2, 4, ... tiles, up to one for each core,
// the number that `tiles = 0` chooses, and how many times as fast as one tile the best of them is.
//
//   scaling [--json FILE] [--kernels] [MODEL...]
#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "models.h"
#include "runner.h"

namespace {

using namespace pando;
struct Measured {
  int tiles = 0;
  double microseconds = 0;
  std::vector<KernelTime> kernels = {};
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

Row measure_model(const std::string& name, int cores) {
  const models::TrainingStep step = models::build(name);
  Row row = {.model = name};
  for (int tiles : tile_counts(cores)) {
    Runner runner(step, Device({.tiles = tiles}));
    const double microseconds = runner.lowest(10);
    row.measured.push_back({tiles, microseconds, runner.kernel_times()});
  }
  Runner runner(step, Device());
  row.chosen = {runner.tiles(), runner.lowest(10)};
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

std::string json_of(const std::vector<Row>& rows, const std::string& run) {
  std::vector<std::string> models;
  for (const Row& row : rows) {
    std::vector<std::string> times;
    for (const Measured& measured : row.measured)
      times.push_back(fmt::format("{{\"tiles\": {}, \"step_us\": {:.3f},\n     \"kernels\": {}}}", measured.tiles,
                                  measured.microseconds, json_of_kernels(measured.kernels)));
    models.push_back(
        fmt::format("  {{\"model\": \"{}\", \"chosen_tiles\": {}, \"chosen_us\": {:.3f}, \"times\": [\n    {}]}}",
                    row.model, row.chosen.tiles, row.chosen.microseconds, fmt::join(times, ",\n    ")));
  }
  return fmt::format("{{{}, \"models\": [\n{}\n]}}\n", run, fmt::join(models, ",\n"));
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
    std::vector<Row> rows;
    for (const std::string& name : names) {
      rows.push_back(measure_model(name, all.tiles()));
      print_row(rows.back());
      // A run that is stopped keeps the rows that it printed.
      if (!json.empty()) store(json, json_of(rows, json_of_run(argc, argv, all)));
    }
    if (kernels)
      for (const Row& row : rows) print_kernels(row);
  } catch (const Error& error) {
    std::cerr << "scaling: " << error.what() << "\n";
    return 1;
  }
}
