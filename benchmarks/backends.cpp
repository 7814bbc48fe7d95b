// SPDX-License-Identifier: Apache-2.0
#include "backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "runner.h"

namespace pando {

namespace {

// A column: its title, and microseconds by model.
struct Column {
  std::string title;
  std::map<std::string, double> times = {};
};

constexpr std::int64_t steps_of_execution = 100;

// From a graph to the end of its first five steps.
double first_step(const models::TrainingStep& step, const Device& device) {
  const auto start = Clock::now();
  const Runner runner(step, device);
  return microseconds_since(start);
}

void measure_gpu(const std::vector<std::string>& names, const Comparison& comparison, std::vector<Column>& columns) {
  const Device gpu({.backend = "cuda"});
  Column made{"graph to step 5"}, exact{"cuda float32"}, tf32{"cuda tf32"}, mixed{"cuda bfloat16"};
  for (const std::string& name : names) {
    const models::TrainingStep step = models::build(name);
    made.times[name] = first_step(step, gpu);
    Runner runner(step, gpu);
    exact.times[name] = runner.measure(steps_of_execution).median;
    if (comparison.kernels) print_kernels(name, runner.kernel_times());
    tf32.times[name] = Runner(step, gpu, {.precision = Precision::tf32}).measure(steps_of_execution).median;
    mixed.times[name] = Runner(step, gpu, {.precision = Precision::mixed_bfloat16}).measure(steps_of_execution).median;
  }
  columns.insert(columns.end(), {made, exact, tf32, mixed});
  if (comparison.alone) return;
  columns.push_back({"torch eager", steps_of_python(PANDO_TORCH_STEPS, "--device cuda", names)});
  columns.push_back({"torch graph", steps_of_python(PANDO_TORCH_STEPS, "--device cuda --graph", names)});
  columns.push_back({"torch compile", steps_of_python(PANDO_TORCH_STEPS, "--device cuda --compile", names)});
  columns.push_back({"jax scan", steps_of_python(PANDO_JAX_STEPS, "", names)});
  columns.push_back({"jax scan tf32", steps_of_python(PANDO_JAX_STEPS, "--tf32", names)});
}

void measure_cpu(const std::vector<std::string>& names, std::vector<Column>& columns) {
  const int cores = Device().tiles();
  for (const int tiles : cores > 2 ? std::vector{2, cores} : std::vector{cores}) {
    const Device device({.tiles = tiles, .backend = "cpu"});
    Column& column = columns.emplace_back(Column{fmt::format("cpu, {} cores", tiles)});
    for (const std::string& name : names) column.times[name] = Runner(models::build(name), device).measure(10).median;
  }
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void print(const std::vector<Column>& columns, const std::vector<std::string>& names) {
  fmt::print("{:<18}", "us a step");
  for (const std::string& name : names) fmt::print("{:>13}", name);
  for (const Column& column : columns) {
    fmt::print("\n{:<18}", column.title);
    for (const std::string& name : names) {
      const auto found = column.times.find(name);
      fmt::print("{:>13}", found == column.times.end() ? "-" : fmt::format("{:.1f}", found->second));
    }
  }
  fmt::print("\n");
}

std::string json_of(const std::vector<Column>& columns) {
  std::vector<std::string> lines;
  for (const Column& column : columns) {
    std::vector<std::string> times;
    for (const auto& [name, time] : column.times) times.push_back(fmt::format("\"{}\": {:.3f}", name, time));
    lines.push_back(fmt::format("  \"{}\": {{{}}}", column.title, fmt::join(times, ", ")));
  }
  return fmt::format("{{\n{}\n}}\n", fmt::join(lines, ",\n"));
}

}  // namespace

void compare_backends(const Comparison& comparison) {
  std::vector<std::string> wanted = comparison.names;
  if (wanted.empty()) {
    wanted = models::names();
    for (const std::string& other : models::other_names()) wanted.push_back(other);
  }
  std::vector<Column> columns;
  for (const std::string& backend : parts_of(comparison.backends)) {
    if (backend == "cuda") measure_gpu(wanted, comparison, columns);
    else if (backend == "cpu") measure_cpu(wanted, columns);
    else throw Error(fmt::format("there is no backend '{}' to compare; give cuda, cpu, or cuda,cpu", backend));
  }
  print(columns, wanted);
  if (!comparison.json.empty() && !(std::ofstream(comparison.json) << json_of(columns)).flush())
    throw Error(fmt::format("cannot write '{}'", comparison.json));
}

}  // namespace pando
