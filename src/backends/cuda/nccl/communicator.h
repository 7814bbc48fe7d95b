// SPDX-License-Identifier: Apache-2.0
// Communicator: GPUs of several workers, one each, that NCCL connects. Messages carry bytes and go over a stream.
#pragma once
#include <pando/base/function.h>
#include <pando/comm/workers.h>

#include <mutex>
#include <span>

#include "backends/cuda/nccl/library.h"
#include "backends/cuda/stream.h"

namespace pando::cuda {

class Communicator {
 public:
  // All workers make one at the same time, with the same id. Throws Error with the remedy.
  Communicator(int gpu, int rank, int count, const Nccl::UniqueId& id);
  ~Communicator() { abort(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int gpu() const { return gpu_; }
  int rank() const { return rank_; }
  int count() const { return count_; }

  // Pointers are those of the GPU. All workers make these calls in the same order.
  struct Message {
    int other = 0;
    void* bytes = nullptr;
    std::size_t size = 0;
  };
  void all_gather(const void* own, void* all, std::size_t bytes, const Stream& stream);
  void exchange(std::span<const Message> sent, std::span<const Message> received, const Stream& stream);
  // Returns when the stream has done everything. Meanwhile it asks NCCL for failures, and calls `look`, which throws if
  // a worker has failed; either ends the communicator, because what the GPU waits for would not come.
  void wait(const Stream& stream, const Function<void()>& look);
  // Ends what the GPU still does. Later calls of anything else throw Error.
  void abort() noexcept;

 private:
  Nccl::Comm comm() const;

  const int gpu_, rank_, count_;
  std::mutex mutex_;
  Nccl::Comm comm_ = nullptr;
};

}  // namespace pando::cuda
