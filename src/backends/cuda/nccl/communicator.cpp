// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nccl/communicator.h"

#include <pando/base/error.h>

#include <chrono>
#include <thread>

#include "backends/cuda/devices.h"

namespace pando::cuda {

namespace {

// How often failures are looked for; the end of the work is looked for without a pause at first.
constexpr std::chrono::milliseconds between_looks(2);
constexpr std::chrono::microseconds awake(500);

}  // namespace

Communicator::Communicator(int gpu, int rank, int count, const Nccl::UniqueId& id)
    : gpu_(gpu), rank_(rank), count_(count) {
  if (!nccl().problem.empty()) throw Error("GPUs of several workers cannot be connected: " + nccl().problem);
  use_gpu(gpu);
  nccl().check(nccl().comm_init_rank(&comm_, count, id, rank), "to connect the GPUs of the workers");
}

Nccl::Comm Communicator::comm() const {
  if (comm_ == nullptr)
    throw Error("the GPUs of the workers are no longer connected, because one failed before; start the program again");
  return comm_;
}

void Communicator::all_gather(const void* own, void* all, std::size_t bytes, const Stream& stream) {
  use_gpu(gpu_);
  nccl().check(nccl().all_gather(own, all, bytes, Nccl::type_of_bytes, comm(), stream.get()),
               "to gather from all workers", comm());
}

void Communicator::exchange(std::span<const Message> sent, std::span<const Message> received, const Stream& stream) {
  use_gpu(gpu_);
  const char* const what = "to send to other workers";
  const Nccl::Comm comm = this->comm();
  nccl().check(nccl().group_start(), what);
  int code = 0;
  // A group that was begun must be ended.
  for (const Message& one : sent)
    if (code == 0) code = nccl().send(one.bytes, one.size, Nccl::type_of_bytes, one.other, comm, stream.get());
  for (const Message& one : received)
    if (code == 0) code = nccl().recv(one.bytes, one.size, Nccl::type_of_bytes, one.other, comm, stream.get());
  const int end = nccl().group_end();
  nccl().check(code != 0 ? code : end, what, comm);
}

void Communicator::wait(const Stream& stream, const Function<void()>& look) {
  use_gpu(gpu_);
  const auto begun = std::chrono::steady_clock::now();
  auto looked = begun;
  try {
    while (true) {
      const cudaError_t code = cudaStreamQuery(stream.get());
      if (code != cudaErrorNotReady) return pando::cuda::check(code, "while it exchanged numbers with other workers");
      const auto now = std::chrono::steady_clock::now();
      if (now - looked > between_looks) {
        looked = now;
        int failure = 0;
        nccl().check(nccl().comm_get_async_error(comm(), &failure), "to look for failures", comm());
        nccl().check(failure, "to reach another worker, which died or cannot be reached", comm());
        look();
      }
      if (now - begun < awake) std::this_thread::yield();
      else std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } catch (...) {
    abort();
    cudaStreamSynchronize(stream.get());
    throw;
  }
}

void Communicator::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (comm_ != nullptr) nccl().comm_abort(std::exchange(comm_, nullptr));
}

}  // namespace pando::cuda
