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
// The rank of this process; 0 before the workers are connected.
std::atomic<int> own_rank = 0;

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

// torchrun itself uses the port that it names, if it says that its store is there; NCCL takes the next one.
std::string address_of_first() {
  if (const std::string named = environment("NCCL_COMM_ID"); !named.empty()) return named;
  const std::string host = environment("MASTER_ADDR");
  const int port = number_in(environment("MASTER_PORT"));
  if (host.empty() || port < 0) return "";
  const int next = environment("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0;
  const bool is_version_6 = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_version_6 ? "[" : "", host, is_version_6 ? "]" : "", port + next);
}

}  // namespace

Start find_start() {
  for (const Starter& starter : all_starters()) {
    const int count = number_in(starter.count), rank = number_in(starter.rank);
    if (count >= 1 && rank >= 0) return {rank, count, starter.by, starter.knows_mpi, address_of_first()};
  }
  return {};
}

Neighbours find_neighbours() {
  if (find_start().count < 2) return {};
  const std::pair<std::string, std::string> all[] = {
      {environment("OMPI_COMM_WORLD_LOCAL_RANK"), environment("OMPI_COMM_WORLD_LOCAL_SIZE")},
      {environment("MPI_LOCALRANKID"), environment("MPI_LOCALNRANKS")},
      {environment("LOCAL_RANK"), environment("LOCAL_WORLD_SIZE")},
      {environment("SLURM_LOCALID"), environment("SLURM_NTASKS_PER_NODE")}};
  for (const auto& [rank_text, count_text] : all)
    if (const int rank = number_in(rank_text); rank >= 0) return {rank, std::max(number_in(count_text), 0)};
  return {};
}

void check_start(const Start& start) {
  if (start.by.empty())
    throw Error(
        "workers are processes that run one program together, but this process was started alone; start the "
        "program with mpirun -n COUNT PROGRAM, or with srun");
  if (start.knows_mpi || !start.address.empty()) return;
  const std::string remedy =
      start.by == "srun"
          ? "start the program with srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list shows which there are)"
          : fmt::format("start the program with mpirun -n {} PROGRAM in its place", start.count);
  throw Error(fmt::format(
      "worker {} of {}: workers are connected by MPI, and {} started these processes without telling MPI of "
      "them; {}, or, where each has a GPU, set MASTER_ADDR and MASTER_PORT, by which NCCL connects them",
      start.rank, start.count, start.by, remedy));
}

int started_workers() { return works_alone() ? 1 : find_start().count; }

bool works_alone() { return is_alone || environment("PANDO_WORKERS") == "none"; }

void work_alone() { is_alone = true; }

void note_workers_are_used(int rank) {
  own_rank = rank;
  workers_are_used = true;
}

bool is_first_worker() { return own_rank == 0; }

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
