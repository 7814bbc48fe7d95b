// SPDX-License-Identifier: Apache-2.0
// Runner: a model on a device, ready to be measured. A GPU keeps the samples in its memory, as it does in training.
#pragma once
#include <pando/program/profile.h>
#include <pando/program/program.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models.h"

namespace pando {

using Clock = std::chrono::steady_clock;

inline double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Times {
  // What other processes disturb least, and tables show.
  double lowest = 0;
  double median = 0;
  // The range from the 10th to the 90th percentile, as a fraction of the median.
  double spread = 0;
};
Times times_of(std::vector<double> values);

class Runner {
 public:
  Runner(const models::TrainingStep& step, const Device& device, const ProgramOptions& options = {});

  // The time of one step, in executions of `steps`.
  Times measure(std::int64_t steps);
  // The times of both, in turns: what else the machine does meets both.
  static std::pair<Times, Times> measure_in_turns(Runner& first, Runner& second, std::int64_t steps);
  // Those of the fastest of some executions of five steps.
  std::vector<KernelTime> kernel_times();
  double megabytes() const;
  // How many the program uses.
  int tiles() const;

 private:
  // Runs an execution, and says how many steps it should have.
  std::int64_t warm_up(std::int64_t steps);
  double time_of_step(std::int64_t steps);

  Program program_;
  std::optional<Feed> feed_;
};

// What a table of measurements begins with in JSON: the day, the words of the command, the machine and its compiler.
std::string json_of_run(int argc, char** argv, const Device& device);
std::string json_of_kernels(const std::vector<KernelTime>& kernels);

// Writes the file, or throws Error.
void store(const std::string& path, const std::string& text);

void print_kernels(const std::string& title, const std::vector<KernelTime>& kernels);

// The microseconds that a script prints by model, run by the first Python that has its library; empty if none has.
std::map<std::string, double> steps_of_python(const std::string& script, const std::string& options,
                                              const std::vector<std::string>& names);

}  // namespace pando
