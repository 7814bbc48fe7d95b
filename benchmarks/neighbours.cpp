// SPDX-License-Identifier: Apache-2.0
// How Pando shares a machine with other processes: training next to busy loops, and several trainings at once.
//
//   neighbours
//
// Each row is a ratio to what would be fair, measured in turns, with its limit; the status is 1 if one does not hold.
// The program calls itself for the work, so that neighbours are separate processes.
#include <pando/pando.h>

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/machine/cores.h"
#include "measurement.h"

namespace pando::limits {

namespace {

constexpr int rounds = 5;

// A training whose kernels take a few microseconds, so that its tiles wait for each other all the time, and one whose
// kernels take a hundred times as long.
struct Work {
  const char* name;
  std::int64_t width, epochs;
  int ipus;
};
constexpr Work works[] = {{"small", 64, 150, 1}, {"large", 512, 15, 1}, {"replicas", 64, 150, 2}};
constexpr std::int64_t batch = 16, steps = 200;

void train(const Work& work) {
  namespace layers = keras::layers;
  set_random_seed(3);
  ipu::IPUConfig config;
  config.auto_select_ipus = work.ipus;
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  keras::Sequential model({layers::Dense(work.width, {.activation = "relu", .input_shape = Shape{64}}),
                           layers::Dense(work.width, {.activation = "relu"}),
                           layers::Dense(10, {.activation = "softmax"})});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 100});
  const Array x(DType::float32, {batch * steps, 64}), y(DType::int32, {batch * steps});
  model.fit(x, y, {.batch_size = batch, .epochs = work.epochs, .verbose = 0});
}

// A process that works, or wastes time, until it is told to end.
pid_t start(const char* job) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "neighbours", job, static_cast<char*>(nullptr));
    _exit(127);
  }
  return child;
}

void wait_for(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    fmt::print(stderr, "neighbours: a process failed with status {}\n", status);
    std::exit(2);
  }
}

double seconds_at_once(const char* job, int processes) {
  const auto begin = Clock::now();
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) children.push_back(start(job));
  for (pid_t child : children) wait_for(child);
  return microseconds_since(begin) / 1e6;
}

double seconds_in_turn(const char* job, int processes) {
  double seconds = 0;
  for (int i = 0; i < processes; ++i) seconds += seconds_at_once(job, 1);
  return seconds;
}

// One on each core while it lives.
class BusyLoops {
 public:
  BusyLoops() {
    for (int core = 0; core < usable_cores(); ++core) loops_.push_back(start("loop"));
  }
  ~BusyLoops() {
    for (pid_t loop : loops_) kill(loop, SIGKILL);
    for (pid_t loop : loops_) waitpid(loop, nullptr, 0);
  }

 private:
  std::vector<pid_t> loops_;
};

// If every core has one other thread to run, half of the machine is left.
double beside_busy_loops(const char* job) {
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double alone = seconds_at_once(job, 1);
    const BusyLoops loops;
    ratios.push_back(seconds_at_once(job, 1) / (2 * alone));
  }
  return median(std::move(ratios));
}

double four_at_once(const char* job) {
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double in_turn = seconds_in_turn(job, 4);
    ratios.push_back(seconds_at_once(job, 4) / in_turn);
  }
  return median(std::move(ratios));
}

int do_job(const std::string& job) {
  if (job == "loop")
    while (true) asm volatile("");
  for (const Work& work : works)
    if (job == work.name) {
      train(work);
      return 0;
    }
  return 2;
}

int measure_all() {
  bool holds = true;
  const auto row = [&](const char* job, const char* what, double ratio, double limit) {
    holds = holds && ratio <= limit;
    fmt::print("{:<9} {:<58} {:>6.2f} x {:>9.2f} x {}\n", job, what, ratio, limit, ratio <= limit ? "" : "  too slow");
    std::fflush(stdout);
  };
  fmt::print("{:<9} {:<58} {:>8} {:>11}\n", "training", fmt::format("on {} cores", usable_cores()), "of fair", "limit");
  for (const Work& work : works) {
    row(work.name, "beside a busy loop on each core, of twice its time alone", beside_busy_loops(work.name), 1.3);
    row(work.name, "four processes at once, of one after the other", four_at_once(work.name), 1.25);
  }
  return holds ? 0 : 1;
}

}  // namespace

}  // namespace pando::limits

int main(int count, char** words) {
  if (count == 1) return pando::limits::measure_all();
  if (count == 2) return pando::limits::do_job(words[1]);
  std::fputs("usage: neighbours\n", stderr);
  return 2;
}
