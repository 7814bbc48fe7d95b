// SPDX-License-Identifier: Apache-2.0
// Workers: the processes that run one program together, each with its own replicas.
#pragma once
#include <pando/base/error.h>
#include <pando/base/export.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pando {

// Another worker has failed or does not answer.
class PANDO_API WorkerFailure : public Error {
 public:
  WorkerFailure(int rank, const std::string& message, bool is_silent = false)
      : Error(message), rank_(rank), is_silent_(is_silent) {}
  int rank() const { return rank_; }
  // Whether it died or cannot be reached; otherwise its own error is on its own output.
  bool is_silent() const { return is_silent_; }

 private:
  int rank_;
  bool is_silent_;
};

// How workers reach each other. All workers make the same calls in the same order on each channel.
class PANDO_API Workers {
 public:
  virtual ~Workers() = default;

  // This worker's number, from 0, and how many there are.
  virtual int rank() const = 0;
  virtual int count() const = 0;

  struct Sent {
    int to = 0;
    std::span<const std::byte> bytes = {};
  };
  struct Received {
    int from = 0;
    std::span<std::byte> bytes = {};
  };
  // Sends and receives all of these, and returns when that is done. Messages of different channels do not meet. Any
  // number of threads may call it at once, each with a channel of its own. Throws Error, which names the worker, if one
  // has failed or does not answer in time.
  virtual void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) = 0;
  // Throws Error, which names the worker, if one has failed. For a caller that waits for something other than messages.
  virtual void check_others() {}
  // Tells the other workers that this one cannot go on: what they exchange with it throws Error with this text.
  virtual void give_up(const std::string& why) noexcept = 0;
};

// The processes that `mpirun` or `srun` started together with this one. The first call starts MPI; if MPI does not know
// of the processes, as with `torchrun`, NCCL connects them by way of their GPUs. Throws Error with the remedy if this
// process was started alone, or if neither can be used.
PANDO_API std::shared_ptr<Workers> mpi_workers();
// Why workers cannot be connected by MPI, as a sentence with the remedy; empty if they can. It does not start MPI.
PANDO_API std::string why_no_mpi();
// Whether this process shows progress and writes files for all workers: false only after mpi_workers() gave it a rank
// above 0.
PANDO_API bool is_first_worker();
// How many processes the environment says were started together with this one; 1 if it says nothing, or if
// PANDO_WORKERS is "none".
PANDO_API int started_workers();
// From now on started_workers() is 1: this process works alone, whatever was started together with it.
PANDO_API void work_alone();

}  // namespace pando
