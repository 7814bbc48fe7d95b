// SPDX-License-Identifier: Apache-2.0
// How a process was started, and processes of this machine.
#include "comm/start.h"

#include <pando/base/error.h>
#include <pando/comm/workers.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>

#include "base/machine/process_name.h"

namespace pando {
namespace {

using Values = std::map<std::string, std::string>;

// The environment has these variables of starters alone while it lives.
class StartVariables {
 public:
  explicit StartVariables(const Values& values) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_RANK",
                             "PMI_SIZE",
                             "PMI_RANK",
                             "PMI_FD",
                             "PMIX_RANK",
                             "MPI_LOCALNRANKS",
                             "MPI_LOCALRANKID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_PROCID",
                             "WORLD_SIZE",
                             "RANK",
                             "PANDO_WORKERS",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "NCCL_COMM_ID",
                             "TORCHELASTIC_USE_AGENT_STORE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "SLURM_LOCALID",
                             "SLURM_NTASKS_PER_NODE"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) before_[name] = value;
      names_.emplace_back(name);
      unsetenv(name);
    }
    for (const auto& [name, value] : values) setenv(name.c_str(), value.c_str(), 1);
  }
  StartVariables(const StartVariables&) = delete;
  StartVariables& operator=(const StartVariables&) = delete;
  ~StartVariables() {
    for (const std::string& name : names_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> names_;
  Values before_;
};

std::string refusal(const Start& start) {
  try {
    check_start(start);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Start, IsWhatTheEnvironmentSays) {
  const StartVariables variables(
      {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"WORLD_SIZE", "9"}, {"RANK", "1"}});
  const Start start = find_start();
  EXPECT_EQ(start.rank, 2);
  EXPECT_EQ(start.count, 4);
  EXPECT_EQ(start.by, "mpirun");
  EXPECT_EQ(refusal(start), "");
  EXPECT_EQ(started_workers(), 4);
  setenv("PANDO_WORKERS", "none", 1);
  EXPECT_EQ(started_workers(), 1);
}

TEST(Start, AloneIsRefusedWithTheRemedy) {
  const StartVariables variables(Values{{"WORLD_SIZE", "4"}});
  EXPECT_EQ(started_workers(), 1) << "without RANK it means something else";
  EXPECT_EQ(
      refusal(find_start()),
      "workers are processes that run one program together, but this process was started alone; start the program "
      "with mpirun -n COUNT PROGRAM, or with srun");
}

TEST(Start, TorchrunWithoutAnAddressIsRefusedWithTheRemedy) {
  const StartVariables variables(Values{{"WORLD_SIZE", "4"}, {"RANK", "3"}});
  EXPECT_EQ(started_workers(), 4);
  EXPECT_EQ(refusal(find_start()),
            "worker 3 of 4: workers are connected by MPI, and torchrun started these processes without telling MPI of "
            "them; start the program with mpirun -n 4 PROGRAM in its place, or, where each has a GPU, set MASTER_ADDR "
            "and MASTER_PORT, by which NCCL connects them");
}

TEST(Start, TheAddressOfTheFirstProcessIsEnoughForNccl) {
  const Values torchrun{{"WORLD_SIZE", "4"}, {"RANK", "3"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
  {
    const StartVariables variables(torchrun);
    EXPECT_EQ(find_start().address, "node7:29500");
    EXPECT_FALSE(find_start().knows_mpi);
    EXPECT_EQ(refusal(find_start()), "");
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    EXPECT_EQ(find_start().address, "node7:29501") << "torchrun uses the port itself";
    setenv("MASTER_ADDR", "fe80::1", 1);
    EXPECT_EQ(find_start().address, "[fe80::1]:29501");
    setenv("NCCL_COMM_ID", "node1:4000", 1);
    EXPECT_EQ(find_start().address, "node1:4000");
  }
  const StartVariables variables(
      {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "5000"}});
  EXPECT_EQ(find_start().address, "10.0.0.1:5000");
  EXPECT_EQ(refusal(find_start()), "");
}

TEST(Start, KnowsTheProcessesOfTheSameMachine) {
  const auto neighbours = [](const Values& values) {
    const StartVariables variables(values);
    const Neighbours found = find_neighbours();
    return std::pair(found.rank, found.count);
  };
  EXPECT_EQ(neighbours({}), std::pair(0, 1));
  EXPECT_EQ(neighbours({{"OMPI_COMM_WORLD_SIZE", "8"},
                        {"OMPI_COMM_WORLD_RANK", "6"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}),
            std::pair(2, 4));
  EXPECT_EQ(neighbours({{"WORLD_SIZE", "8"}, {"RANK", "7"}, {"LOCAL_RANK", "3"}, {"LOCAL_WORLD_SIZE", "4"}}),
            std::pair(3, 4));
  EXPECT_EQ(neighbours({{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "7"}, {"SLURM_LOCALID", "1"}}),
            std::pair(1, 0));
  EXPECT_EQ(neighbours({{"SLURM_LOCALID", "0"}, {"SLURM_NTASKS_PER_NODE", "4"}}), std::pair(0, 1))
      << "a process of a job that was started alone";
}

TEST(Start, SrunNeedsAnInterfaceToMpi) {
  {
    const StartVariables variables(Values{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}});
    EXPECT_EQ(
        refusal(find_start()),
        "worker 1 of 2: workers are connected by MPI, and srun started these processes without telling MPI of them; "
        "start the program with srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list shows which there are), or, where each "
        "has a GPU, set MASTER_ADDR and MASTER_PORT, by which NCCL connects them");
  }
  const StartVariables variables(Values{{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}, {"PMIX_RANK", "1"}});
  EXPECT_EQ(refusal(find_start()), "");
}

TEST(ProcessName, TellsWhetherAProcessOfThisMachineRuns) {
  ProcessName process = this_process();
  if (process.system == 0) GTEST_SKIP() << "there is no /proc";
  EXPECT_EQ(life_of(process), Life::runs);
  ++process.start;
  EXPECT_EQ(life_of(process), Life::ended) << "another process with the same number";
  process.system ^= 1;
  EXPECT_EQ(life_of(process), Life::unknown) << "of another machine";

  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const ProcessName own = this_process();
    if (write(pipe_ends[1], &own, sizeof own) < 0) _exit(1);
    while (true) pause();
  }
  ProcessName name;
  ASSERT_EQ(read(pipe_ends[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  EXPECT_EQ(life_of(name), Life::runs);
  kill(child, SIGKILL);
  // A process that ended but was not waited for does not run.
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(life_of(name), Life::ended);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(life_of(name), Life::ended);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace
}  // namespace pando
