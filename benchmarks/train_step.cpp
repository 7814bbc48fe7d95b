// SPDX-License-Identifier: Apache-2.0
// How close a training step comes to the machine: for each model the time of a step, the fraction of the multiply-add
// peak measured in the same run, the ratio to PyTorch where there is one, the gain of mixed_bfloat16, its kernels; and
// the speed of inference.
//
//   train_step [--json FILE] [--kernels] [MODEL...]
#include <pando/ops/ops.h>
#include <pando/program/profile.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include "models.h"
#include "peak.h"

namespace {

using namespace pando;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Times {
  double median = 0;
  // The range from the 10th to the 90th percentile, as a fraction of the median.
  double spread = 0;
};

Times times_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  return {at(0.5), (at(0.9) - at(0.1)) / at(0.5)};
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

// A model on a device, ready to run.
class Runner {
 public:
  Runner(const models::TrainingStep& step, const Device& device, const ProgramOptions& options = {})
      : program_(step.graph, device, weights(step), options) {
    Shape shape = {step.batch};
    for (std::int64_t size : step.image) shape.append(size);
    const auto labels = static_cast<std::size_t>(step.batch) * sizeof(std::int32_t);
    feed_.emplace(program_, [=, images = noise(shape, 1.0)](std::int64_t, std::span<std::byte* const> feeds) {
      std::memcpy(feeds[0], images.raw(), images.bytes());
      if (feeds.size() > 1) std::memset(feeds[1], 0, labels);
      return true;
    });
    program_.run(5, *feed_);
  }

  // The time of one step, in executions of `steps`.
  Times measure(std::int64_t steps) {
    std::vector<double> times;
    const auto begin = Clock::now();
    while (times.size() < 15 || (microseconds_since(begin) < 5e5 && times.size() < 500)) {
      const auto start = Clock::now();
      program_.run(steps, *feed_);
      times.push_back(microseconds_since(start) / static_cast<double>(steps));
    }
    return times_of(std::move(times));
  }

  std::vector<KernelTime> kernel_times() {
    Profiler profiler("train_step");
    profiler.attach(program_);
    program_.run(50, *feed_);
    profiler.detach();
    return profiler.kernel_times();
  }

  double megabytes() const {
    double bytes = 0;
    for (const KernelInfo& kernel : program_.kernels()) bytes += kernel.bytes;
    return bytes / 1e6;
  }

 private:
  static Variables weights(const models::TrainingStep& step) {
    Variables variables;
    for (const auto& parameter : step.parameters) variables.set(parameter.name, noise(parameter.shape, 0.05));
    return variables;
  }

  Program program_;
  std::optional<Feed> feed_;
};

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

// Microseconds of PyTorch's eager steps by model, on the same kind of device; empty if this Python has no PyTorch.
std::map<std::string, double> torch_times(const std::string& python, const std::vector<std::string>& names,
                                          const Device& device) {
  std::string command = python + " " PANDO_TORCH_STEPS;
  if (device.backend() == "cuda") command += " --device cuda";
  for (const std::string& name : names) command += " " + name;
  std::map<std::string, double> times;
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return times;
  char name[64];
  double microseconds = 0;
  while (std::fscanf(pipe, "%63s %lf", name, &microseconds) == 2) times[name] = microseconds;
  pclose(pipe);
  return times;
}

struct Row {
  std::string name;
  double megaflops = 0, megabytes = 0, compile = 0;
  Times one_tile = {}, all_tiles = {}, mixed = {};
  double latency = 0, throughput = 0;
  std::optional<double> torch = {};
  std::vector<KernelTime> kernels = {}, mixed_kernels = {};

  double fraction(double peak) const { return megaflops / all_tiles.median / peak * 1e3; }
};

Row measure_model(const std::string& name, const Device& one, const Device& all) {
  const models::TrainingStep step = models::build(name);
  Row row{.name = name, .megaflops = step.megaflops, .compile = measure_compile(name, all)};
  row.one_tile = Runner(step, one).measure(10);
  Runner runner(step, all);
  row.all_tiles = runner.measure(10);
  row.megabytes = runner.megabytes();
  row.kernels = runner.kernel_times();
  Runner mixed(step, all, {.precision = Precision::mixed_bfloat16});
  row.mixed = mixed.measure(10);
  row.mixed_kernels = mixed.kernel_times();
  row.latency = Runner(models::build_inference(name, 1), all).measure(1).median;
  row.throughput = 256e6 / Runner(models::build_inference(name, 256), all).measure(2).median;
  return row;
}

void print_row(const Row& row, double peak) {
  fmt::print("{:<13}{:>7.0f}{:>8.1f}{:>9.2f}{:>11.1f}{:>11.1f}{:>5.0f}%{:>8.1f}%{:>9}{:>7.2f}x{:>11.1f}{:>12.0f}\n",
             row.name, row.megaflops, row.megabytes, row.compile / 1e3, row.one_tile.median, row.all_tiles.median,
             100 * row.all_tiles.spread, 100 * row.fraction(peak),
             row.torch ? fmt::format("{:.2f}x", *row.torch / row.all_tiles.median) : "-",
             row.all_tiles.median / row.mixed.median, row.latency, row.throughput);
}

void print_kernels(const std::string& title, const std::vector<KernelTime>& kernels) {
  double total = 0;
  for (const KernelTime& kernel : kernels) total += kernel.microseconds;
  fmt::print("\n{}\n", title);
  for (const KernelTime& kernel : kernels)
    if (kernel.microseconds > 0.005 * total)
      fmt::print("  {:<33}{:<32}{:>9.1f} us{:>7.1f}%\n", kernel.op, kernel.name, kernel.microseconds,
                 100 * kernel.microseconds / total);
}

std::string json_of(const std::vector<Row>& rows, const Device& device, double peak) {
  std::vector<std::string> models;
  for (const Row& row : rows) {
    std::vector<std::string> kernels;
    for (const KernelTime& kernel : row.kernels)
      kernels.push_back(fmt::format(R"({{"op": "{}", "name": "{}", "microseconds": {:.3f}}})", kernel.op, kernel.name,
                                    kernel.microseconds));
    models.push_back(fmt::format(
        R"(  {{"model": "{}", "megaflops": {:.3f}, "megabytes": {:.3f}, "compile_ms": {:.3f}, "one_tile_us": {:.3f}, "step_us": {:.3f}, "spread": {:.4f}, "of_peak": {:.4f}, "torch_us": {}, "mixed_bfloat16_us": {:.3f}, "latency_us": {:.3f}, "samples_per_second": {:.0f},
   "kernels": [{}]}})",
        row.name, row.megaflops, row.megabytes, row.compile / 1e3, row.one_tile.median, row.all_tiles.median,
        row.all_tiles.spread, row.fraction(peak), row.torch ? fmt::format("{:.1f}", *row.torch) : "null",
        row.mixed.median, row.latency, row.throughput, fmt::join(kernels, ", ")));
  }
  return fmt::format("{{\"tiles\": {}, \"instruction_set\": \"{}\", \"peak_gflops\": {:.2f}, \"models\": [\n{}\n]}}\n",
                     device.tiles(), device.instruction_set(), peak, fmt::join(models, ",\n"));
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
      std::cerr << "usage: train_step [--json FILE] [--kernels] [MODEL...]\n";
      return 2;
    } else names.push_back(word);
  }
  try {
    if (names.empty()) names = models::names();
    const Device one({.tiles = 1}), all;
    const double peak = measure_multiply_add_peak(all.tiles());
    fmt::print("{} tiles, {}; multiply-add peak {:.1f} GFLOP/s\n", all.tiles(), all.instruction_set(), peak);
    fmt::print("{:<13}{:>7}{:>8}{:>9}{:>11}{:>11}{:>6}{:>9}{:>9}{:>8}{:>11}{:>12}\n", "training step", "MFLOP", "MB",
               "compile", "1 tile", "all tiles", "+-", "of peak", "torch", "bf16", "batch 1", "batch 256");
    fmt::print("{:<13}{:>7}{:>8}{:>9}{:>11}{:>11}{:>6}{:>9}{:>9}{:>8}{:>11}{:>12}\n", "", "", "", "ms", "us", "us", "",
               "", "", "", "us", "samples/s");
    std::vector<Row> rows;
    for (const std::string& name : names) rows.push_back(measure_model(name, one, all));
    std::map<std::string, double> torch = torch_times("python3", names, all);
    if (torch.empty()) torch = torch_times("/usr/bin/python3", names, all);
    for (Row& row : rows) {
      if (const auto found = torch.find(row.name); found != torch.end()) row.torch = found->second;
      print_row(row, peak);
    }
    if (kernels)
      for (const Row& row : rows) {
        print_kernels(row.name, row.kernels);
        print_kernels(row.name + ", mixed_bfloat16", row.mixed_kernels);
      }
    if (!json.empty() && !(std::ofstream(json) << json_of(rows, all, peak)).flush())
      throw Error("cannot write '" + json + "'");
  } catch (const Error& error) {
    std::cerr << "train_step: " << error.what() << "\n";
    return 1;
  }
}
