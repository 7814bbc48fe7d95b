// SPDX-License-Identifier: Apache-2.0
// How the processes that were started together become workers: by MPI if it knows of them, else by NCCL, if the
// environment says where the first of them is.
#include <fmt/format.h>

#include <cstdlib>

#include "comm/mpi_workers.h"
#include "comm/start.h"
#include "program/backends.h"

namespace pando {

namespace {

std::shared_ptr<CollectiveWorkers> start_nccl(const Start& start) {
  if (const std::string problem = why_no_nccl(); !problem.empty())
    throw Error(
        fmt::format("worker {} of {}: {} started these processes without telling MPI of them, and NCCL cannot connect "
                    "them: {}; start the program with mpirun -n {} PROGRAM in its place",
                    start.rank, start.count, start.by, problem, start.count));
  return std::make_shared<CollectiveWorkers>(connect_by_nccl(start));
}

// Before the process exits, even if a model still holds the workers.
template <class Kind>
std::shared_ptr<Workers> ended_at_exit(std::shared_ptr<Kind> made) {
  static const std::shared_ptr<Kind>& workers = *new std::shared_ptr<Kind>(std::move(made));
  std::atexit([] { workers->end(); });
  return workers;
}

}  // namespace

std::shared_ptr<Workers> mpi_workers() {
  static const std::shared_ptr<Workers>& workers = *new std::shared_ptr<Workers>([] {
    const Start start = works_alone() ? Start() : find_start();
    check_start(start);
    const std::shared_ptr<Workers> made =
        start.knows_mpi ? ended_at_exit(start_mpi(start)) : ended_at_exit(start_nccl(start));
    note_workers_are_used(made->rank());
    return made;
  }());
  return workers;
}

}  // namespace pando
