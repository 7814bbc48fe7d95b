// SPDX-License-Identifier: Apache-2.0
// Many short trainings in all styles; prints a line `name hash` for each of them. The hash covers the bits of weights,
// losses, metrics and predictions: two builds of the library that print the same lines compute the same.
//
//   bits [PART OF A NAME]...     only the runs whose names have one of the parts in them
//
// scripts/same_bits.sh compares the lines of two revisions. Nothing depends on the number of cores or on the order of
// the runs. A run that throws prints `name ERROR message`. Of two kinds of runs the last bits may change with a new
// version: those that end in _regularized and in _torch_dropout.
#include <algorithm>
#include <cstdio>

#include "run.h"

namespace bits {

namespace {

Runs all_runs() {
  return joined({keras_runs(), keras_ipu_runs(), keras_checkpoint_runs(), poptorch_runs(), tf1_runs()});
}

std::string result(const Run& run) {
  try {
    ipu::reset_ipu_configuration();
    tf::reset_default_graph();
    set_random_seed(9);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(run.train().value()));
    return digits;
  } catch (const std::exception& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return "ERROR " + message;
  }
}

bool is_wanted(const std::string& name, const std::vector<std::string>& parts) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(),
                                      [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

}  // namespace

}  // namespace bits

int main(int count, char** words) {
  const std::vector<std::string> parts(words + 1, words + count);
  for (const bits::Run& run : bits::all_runs())
    if (bits::is_wanted(run.name, parts)) {
      std::printf("%s %s\n", run.name.c_str(), bits::result(run).c_str());
      std::fflush(stdout);
    }
}
