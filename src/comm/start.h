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
};
Start find_start();

// Whether the program or the user said that this process works alone.
bool works_alone();

// Throws Error with the remedy if MPI cannot connect this process with others.
void check_start(const Start& start);

// The processes work together: mpi_workers() was called.
void note_workers_are_used();
// Warns once, in the first process, if the processes that were started together each train a model of their own.
void warn_of_copies();

}  // namespace pando
