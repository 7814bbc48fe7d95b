// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

#include "cli/machine.h"
#include "program/sample_feed.h"

namespace pando {

namespace {

// In microseconds: a step that is measured alone, and what the executions of one measurement take at most, of which
// there are three at least.
constexpr double long_step = 5e4, long_measurement = 5e6;

bool goes_on(Clock::time_point begin, std::size_t measured, std::size_t wanted) {
  return measured < 3 || (measured < wanted && microseconds_since(begin) < long_measurement);
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

Variables weights(const models::TrainingStep& step) {
  Variables variables;
  for (const auto& parameter : step.parameters) variables.set(parameter.name, noise(parameter.shape, 0.05));
  return variables;
}

// Samples of a model: tokens, or images.
Array samples_of(const models::TrainingStep& step, std::int64_t count) {
  Shape shape = {count};
  for (std::int64_t size : step.image) shape.append(size);
  Array samples = noise(shape, 1.0);
  if (step.vocabulary == 0) return samples;
  Array tokens(DType::int32, shape);
  for (std::int64_t i = 0; i < tokens.elements(); ++i) {
    const double part = (static_cast<double>(samples.data<float>()[i]) + 1) / 2;
    tokens.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(part * static_cast<double>(step.vocabulary - 1));
  }
  return tokens;
}
// The labels of a batch.
std::size_t bytes_of_labels(const models::TrainingStep& step) {
  const std::int64_t of_sample = step.vocabulary > 0 ? step.image.elements() : 1;
  return static_cast<std::size_t>(step.batch * of_sample) * sizeof(std::int32_t);
}

// A few batches of samples that a GPU keeps, and takes in their order; nothing on other devices.
std::optional<Feed> resident_feed(const Program& program, const models::TrainingStep& step) {
  constexpr std::int64_t batches = 16;
  const std::int64_t count = step.batch * batches;
  FeedSamples samples{.table = std::make_shared<const SampleTable>(Arrays{samples_of(step, count)}, count),
                      .columns = std::vector<int>(program.feeds().size(), -1)};
  samples.columns[0] = 0;
  const std::int64_t batch = step.batch;
  const std::size_t labels = bytes_of_labels(step);
  return SampleFeed::make(program, samples, [batch, labels](std::int64_t row, std::span<std::byte* const> feeds) {
    auto* numbers = reinterpret_cast<std::int32_t*>(feeds[0]);
    for (std::int64_t i = 0; i < batch; ++i)
      numbers[i] = static_cast<std::int32_t>((row * batch + i) % (batch * batches));
    if (feeds.size() > 1) std::memset(feeds[1], 0, labels);
    return true;
  });
}

std::map<std::string, double> lines_of(const std::string& command) {
  std::map<std::string, double> times;
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return times;
  char name[64];
  double microseconds = 0;
  while (std::fscanf(pipe, "%63s %lf", name, &microseconds) == 2) times[name] = microseconds;
  pclose(pipe);
  return times;
}

// The name of a program without its folder.
std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

Times times_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  return {values.front(), at(0.5), (at(0.9) - at(0.1)) / at(0.5)};
}

Runner::Runner(const models::TrainingStep& step, const Device& device, const ProgramOptions& options)
    : program_(step.graph, device, weights(step), options) {
  if (std::optional<Feed> feed = resident_feed(program_, step)) {
    feed_.emplace(std::move(*feed));
  } else {
    const std::size_t labels = bytes_of_labels(step);
    feed_.emplace(program_,
                  [labels, samples = samples_of(step, step.batch)](std::int64_t, std::span<std::byte* const> feeds) {
                    std::memcpy(feeds[0], samples.raw(), samples.bytes());
                    if (feeds.size() > 1) std::memset(feeds[1], 0, labels);
                    return true;
                  });
  }
  program_.run(5, *feed_);
}

std::int64_t Runner::warm_up(std::int64_t steps) {
  const auto start = Clock::now();
  program_.run(1, *feed_);
  // Long steps need no others to be measured well.
  if (microseconds_since(start) > long_step) steps = 1;
  program_.run(steps, *feed_);
  return steps;
}

double Runner::time_of_step(std::int64_t steps) {
  const auto start = Clock::now();
  program_.run(steps, *feed_);
  return microseconds_since(start) / static_cast<double>(steps);
}

Times Runner::measure(std::int64_t steps) {
  steps = warm_up(steps);
  std::vector<double> times;
  const auto begin = Clock::now();
  while (goes_on(begin, times.size(), 15) || (microseconds_since(begin) < 5e5 && times.size() < 500))
    times.push_back(time_of_step(steps));
  return times_of(std::move(times));
}

std::pair<Times, Times> Runner::measure_in_turns(Runner& first, Runner& second, std::int64_t steps) {
  constexpr int turns = 5;
  constexpr double turn = 1e5;  // microseconds
  std::pair<std::vector<double>, std::vector<double>> times;
  for (int i = 0; i < turns; ++i) {
    for (const auto& [runner, measured] : {std::pair(&first, &times.first), std::pair(&second, &times.second)}) {
      const std::int64_t in_execution = runner->warm_up(steps);
      const auto begin = Clock::now();
      do measured->push_back(runner->time_of_step(in_execution));
      while (microseconds_since(begin) < turn);
    }
  }
  return {times_of(std::move(times.first)), times_of(std::move(times.second))};
}

std::vector<KernelTime> Runner::kernel_times() {
  constexpr std::size_t executions = 40;
  std::vector<KernelTime> fastest;
  double fastest_time = 0;
  const auto begin = Clock::now();
  for (std::size_t i = 0; goes_on(begin, i, executions); ++i) {
    Profiler profiler("train_step");
    profiler.attach(program_);
    program_.run(5, *feed_);
    profiler.detach();
    std::vector<KernelTime> kernels = profiler.kernel_times();
    double time = 0;
    for (const KernelTime& kernel : kernels)
      if (kernel.op != "feed") time += kernel.microseconds;
    if (!fastest.empty() && time >= fastest_time) continue;
    fastest = std::move(kernels);
    fastest_time = time;
  }
  return fastest;
}

double Runner::megabytes() const {
  double bytes = 0;
  for (const KernelInfo& kernel : program_.kernels()) bytes += kernel.bytes;
  return bytes / 1e6;
}

int Runner::tiles() const { return program_.device_use().front().tiles; }

std::string json_of_run(int argc, char** argv, const Device& device) {
  std::vector<std::string> words = {base_name(argv[0])};
  for (int i = 1; i < argc; ++i)
    words.push_back(i > 1 && std::string(argv[i - 1]) == "--json" ? base_name(argv[i]) : argv[i]);
  const std::time_t now = std::time(nullptr);
  std::tm day = {};
  gmtime_r(&now, &day);
  return fmt::format(
      R"("date": "{:04}-{:02}-{:02}", "command": "{}", "processor": "{}", "compiler": "{}", "tiles": {}, "instruction_set": "{}")",
      day.tm_year + 1900, day.tm_mon + 1, day.tm_mday, fmt::join(words, " "), cli::processor_name(), __VERSION__,
      device.tiles(), device.instruction_set());
}

std::string json_of_kernels(const std::vector<KernelTime>& kernels) {
  std::vector<std::string> parts;
  for (const KernelTime& kernel : kernels)
    parts.push_back(fmt::format(R"({{"op": "{}", "name": "{}", "microseconds": {:.3f}}})", kernel.op, kernel.name,
                                kernel.microseconds));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

void store(const std::string& path, const std::string& text) {
  if (!(std::ofstream(path) << text).flush()) throw Error(fmt::format("cannot write '{}'", path));
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

std::map<std::string, double> steps_of_python(const std::string& script, const std::string& options,
                                              const std::vector<std::string>& names) {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::map<std::string, double> times =
        lines_of(fmt::format("{} {} {} {}", python, script, options, fmt::join(names, " ")));
    if (!times.empty()) return times;
  }
  return {};
}

}  // namespace pando
