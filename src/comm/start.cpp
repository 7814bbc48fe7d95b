// SPDX-License-Identifier: Apache-2.0
#include "comm/start.h"

#include <pando/base/error.h>
#include <pando/comm/workers.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <vector>

#include "base/environment.h"
#include "base/notice.h"

namespace pando {

namespace {

std::atomic<bool> is_alone = false, workers_are_used = false;

// -1 if the text is not a number.
int number_in(const std::string& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

// One way to start processes: its name, and what its variables say.
struct Starter {
  const char* by;
  std::string count, rank;
  bool knows_mpi;
};

// The surest first: srun within mpirun would set the variables of both.
std::vector<Starter> all_starters() {
  // srun --mpi=pmix and --mpi=pmi2 tell MPI; a plain srun does not.
  const bool has_interface =
      !environment("PMIX_RANK").empty() || !environment("PMI_RANK").empty() || !environment("PMI_FD").empty();
  return {{"mpirun", environment("OMPI_COMM_WORLD_SIZE"), environment("OMPI_COMM_WORLD_RANK"), true},
          {"mpirun", environment("PMI_SIZE"), environment("PMI_RANK"), true},
          {"mpirun", environment("MPI_LOCALNRANKS"), environment("MPI_LOCALRANKID"), true},
          {"srun", environment("SLURM_STEP_NUM_TASKS"), environment("SLURM_PROCID"), has_interface},
          {"torchrun", environment("WORLD_SIZE"), environment("RANK"), has_interface}};
}

}  // namespace

Start find_start() {
  for (const Starter& starter : all_starters()) {
    const int count = number_in(starter.count), rank = number_in(starter.rank);
    if (count >= 1 && rank >= 0) return {rank, count, starter.by, starter.knows_mpi};
  }
  return {};
}

void check_start(const Start& start) {
  if (start.by.empty())
    throw Error(
        "workers are processes that run one program together, but this process was started alone; start the "
        "program with mpirun -n COUNT PROGRAM, or with srun");
  if (start.knows_mpi) return;
  const std::string remedy =
      start.by == "srun"
          ? "start the program with srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list shows which there are)"
          : fmt::format("start the program with mpirun -n {} PROGRAM in its place", start.count);
  throw Error(fmt::format(
      "worker {} of {}: workers are connected by MPI, and {} started these processes without telling MPI of "
      "them; {}",
      start.rank, start.count, start.by, remedy));
}

int started_workers() { return works_alone() ? 1 : find_start().count; }

bool works_alone() { return is_alone || environment("PANDO_WORKERS") == "none"; }

void work_alone() { is_alone = true; }

void note_workers_are_used() { workers_are_used = true; }

void warn_of_copies() {
  static std::atomic<bool> is_told = false;
  if (workers_are_used || started_workers() == 1 || is_told.exchange(true)) return;
  const Start start = find_start();
  if (start.rank != 0) return;
  warn("workers",
       fmt::format("{} started {} processes together, and each trains a model of its own. To train one model, use "
                   "ipu::IPUMultiWorkerStrategy, or Options.Distributed.configureProcessId in PopTorch; if each is "
                   "meant to train alone, set PANDO_WORKERS=none.",
                   start.by, start.count));
}

}  // namespace pando
