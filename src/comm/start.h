// SPDX-License-Identifier: Apache-2.0
// How this process was started: what mpirun, srun, torchrun and others say in its environment.
#pragma once
#include <string>

namespace pando {

struct Start {
  // This process among those that were started together.
  int rank = 0, count = 1;
  // The program that started them, such as "mpirun"; empty if the environment says nothing.
  std::string by = {};
  // Whether MPI can find the other processes.
  bool knows_mpi = false;
  // Where the first process can be reached, as NCCL wants it: "host:port"; empty if the environment does not say.
  std::string address = {};
};
Start find_start();

// This process among those that were started together with it on this machine. The count is 0 where only the number is
// known.
struct Neighbours {
  int rank = 0, count = 1;
};
Neighbours find_neighbours();

// Whether the program or the user said that this process works alone.
bool works_alone();

// Throws Error with the remedy if neither MPI nor NCCL could find the processes that were started with this one.
void check_start(const Start& start);

// The processes work together, and this one has that rank.
void note_workers_are_used(int rank);
// Warns once, in the first process, if the processes that were started together each train a model of their own.
void warn_of_copies();

}  // namespace pando
