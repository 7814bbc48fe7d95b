// SPDX-License-Identifier: Apache-2.0
#include "backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runner.h"

namespace pando {

namespace {

// A line of the table: its title, and microseconds by model.
struct Line {
  std::string title;
  std::map<std::string, double> times = {};
};

constexpr std::int64_t steps_of_execution = 100;

// Prints each line as soon as it is known: some libraries compile for minutes.
class Table {
 public:
  Table(std::vector<std::string> names, const Comparison& comparison)
      : names_(std::move(names)), file_(comparison.json), run_(comparison.run) {
    fmt::print("{:<18}", "us a step");
    for (const std::string& name : names_) fmt::print("{:>13}", name);
    fmt::print("\n");
  }

  const std::vector<std::string>& names() const { return names_; }
  void add(const Line& line) {
    fmt::print("{:<18}", line.title);
    for (const std::string& name : names_) {
      const auto found = line.times.find(name);
      fmt::print("{:>13}", found == line.times.end() ? "-" : fmt::format("{:.1f}", found->second));
    }
    fmt::print("\n");
    std::fflush(stdout);
    lines_.push_back(line);
    if (!file_.empty()) store(file_, json());
  }

 private:
  std::string json() const {
    std::vector<std::string> lines;
    for (const Line& line : lines_) {
      std::vector<std::string> times;
      for (const auto& [name, time] : line.times) times.push_back(fmt::format("\"{}\": {:.3f}", name, time));
      lines.push_back(fmt::format("  \"{}\": {{{}}}", line.title, fmt::join(times, ", ")));
    }
    return fmt::format("{{{}, \"steps_us\": {{\n{}\n}}}}\n", run_, fmt::join(lines, ",\n"));
  }

  const std::vector<std::string> names_;
  const std::string file_, run_;
  std::vector<Line> lines_;
};

// From a graph to the end of its first five steps.
double first_steps(const models::TrainingStep& step, const Device& device) {
  const auto start = Clock::now();
  const Runner runner(step, device);
  return microseconds_since(start);
}

void measure_gpu(Table& table) {
  const Device gpu({.backend = "cuda"});
  Line made{"graph to step 5"};
  for (const std::string& name : table.names()) made.times[name] = first_steps(models::build(name), gpu);
  table.add(made);
  for (const auto& [title, precision] : {std::pair{"cuda float32", Precision::float32},
                                         {"cuda tf32", Precision::tf32},
                                         {"cuda bfloat16", Precision::mixed_bfloat16}}) {
    Line line{title};
    for (const std::string& name : table.names())
      line.times[name] = Runner(models::build(name), gpu, {.precision = precision}).measure(steps_of_execution).lowest;
    table.add(line);
  }
}

void measure_cpu(Table& table) {
  const int cores = Device({.backend = "cpu"}).tiles();
  for (const int tiles : cores > 2 ? std::vector{2, cores} : std::vector{cores}) {
    const Device device({.tiles = tiles, .backend = "cpu"});
    Line line{fmt::format("cpu, {} cores", tiles)};
    for (const std::string& name : table.names())
      line.times[name] = Runner(models::build(name), device).measure(10).lowest;
    table.add(line);
  }
}

// The quickest to compile first.
void measure_others(Table& table) {
  const std::vector<std::string>& names = table.names();
  table.add({"jax scan", steps_of_python(PANDO_JAX_STEPS, "", names)});
  table.add({"torch graph", steps_of_python(PANDO_TORCH_STEPS, "--device cuda --graph", names)});
  table.add({"torch eager", steps_of_python(PANDO_TORCH_STEPS, "--device cuda", names)});
  table.add({"jax scan, tf32", steps_of_python(PANDO_JAX_STEPS, "--tf32", names)});
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

}  // namespace

void compare_backends(const Comparison& comparison) {
  std::vector<std::string> wanted = comparison.names;
  if (wanted.empty()) {
    wanted = models::names();
    for (const std::string& other : models::other_names()) wanted.push_back(other);
  }
  const std::vector<std::string> backends = parts_of(comparison.backends);
  for (const std::string& backend : backends)
    if (backend != "cuda" && backend != "cpu")
      throw Error(fmt::format("there is no backend '{}' to compare; give cuda, cpu, or cuda,cpu", backend));
  Table table(wanted, comparison);
  const auto is_wanted = [&](const char* name) {
    return std::find(backends.begin(), backends.end(), name) != backends.end();
  };
  if (is_wanted("cuda")) measure_gpu(table);
  if (is_wanted("cpu")) measure_cpu(table);
  if (is_wanted("cuda") && !comparison.alone) measure_others(table);
  if (comparison.kernels && is_wanted("cuda"))
    for (const std::string& name : wanted)
      print_kernels(name, Runner(models::build(name), Device({.backend = "cuda"})).kernel_times());
}

}  // namespace pando
