// SPDX-License-Identifier: Apache-2.0
// NCCL finds the processes by itself: with NCCL_COMM_ID, its first one listens at an address that all know.
#include "backends/cuda/nccl/nccl_collective.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "backends/cuda/devices.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/nccl/communicator.h"

namespace pando::cuda {

namespace {

// Longer messages go in pieces of this size, so that they need little memory of the GPU.
constexpr std::size_t most_bytes = std::size_t{16} << 20;

class NcclCollective final : public Collective {
 public:
  NcclCollective(int gpu, const Start& start, const Nccl::UniqueId& id)
      : communicator_(gpu, start.rank, start.count, id) {}

  int rank() const override { return communicator_.rank(); }
  int count() const override { return communicator_.count(); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    std::byte* const from = room(own.size() + all.size());
    std::byte* const to = from + own.size();
    to_gpu(from, own);
    communicator_.all_gather(from, to, own.size(), stream_);
    from_gpu(all, to);
    wait();
  }
  void exchange(std::span<const Workers::Sent> sent, std::span<const Workers::Received> received) override {
    std::size_t longest = 0;
    for (const Workers::Sent& one : sent) longest = std::max(longest, one.bytes.size());
    for (const Workers::Received& one : received) longest = std::max(longest, one.bytes.size());
    for (std::size_t first = 0; first < longest; first += most_bytes) exchange_pieces(sent, received, first);
  }

 private:
  // Sender and receiver cut a message at the same places; a message that has ended is left out by both.
  static auto piece(const auto& bytes, std::size_t first) {
    return first >= bytes.size() ? bytes.first(0) : bytes.subspan(first, std::min(most_bytes, bytes.size() - first));
  }
  void exchange_pieces(std::span<const Workers::Sent> sent, std::span<const Workers::Received> received,
                       std::size_t first) {
    std::size_t size = 0;
    for (const Workers::Sent& one : sent) size += piece(one.bytes, first).size();
    for (const Workers::Received& one : received) size += piece(one.bytes, first).size();
    std::byte* next = room(size);
    std::vector<Communicator::Message> to, from;
    const auto add = [&](std::vector<Communicator::Message>& messages, int other, std::size_t bytes) {
      if (bytes > 0) messages.push_back({other, next, bytes});
      next += bytes;
      return next - bytes;
    };
    for (const Workers::Sent& one : sent) {
      const auto bytes = piece(one.bytes, first);
      to_gpu(add(to, one.to, bytes.size()), bytes);
    }
    std::vector<std::byte*> arrived;
    for (const Workers::Received& one : received)
      arrived.push_back(add(from, one.from, piece(one.bytes, first).size()));
    communicator_.exchange(to, from, stream_);
    for (std::size_t i = 0; i < received.size(); ++i) from_gpu(piece(received[i].bytes, first), arrived[i]);
    wait();
  }

  std::byte* room(std::size_t bytes) {
    if (bytes_ < bytes) {
      memory_ = {};
      memory_ = memory_of(communicator_.gpu())->allocate(bytes, "messages between workers");
      bytes_ = bytes;
    }
    return reinterpret_cast<std::byte*>(memory_.place().address);
  }
  void to_gpu(std::byte* to, std::span<const std::byte> from) const {
    use_gpu(communicator_.gpu());
    check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_.get()), "to take a message");
  }
  // To memory that is not pinned, the call returns when the bytes are there: the messages must have arrived before.
  void from_gpu(std::span<std::byte> to, const std::byte* from) {
    wait();
    check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_.get()), "to give a message");
  }
  void wait() {
    communicator_.wait(stream_, [] {});
  }

  Communicator communicator_;
  const Stream stream_;
  Allocation memory_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Collective> connect_by_address(const Start& start) {
  const Neighbours neighbours = find_neighbours();
  const int gpu = own_gpus(static_cast<int>(machine().gpus.size()), neighbours.rank, neighbours.count).front();
  use_gpu(gpu);
  // The variable is NCCL's, which reads it where it connects processes; later ones have ids of their own.
  const bool is_given = std::getenv("NCCL_COMM_ID") != nullptr;
  if (!is_given) setenv("NCCL_COMM_ID", start.address.c_str(), 1);
  Nccl::UniqueId id;
  nccl().check(nccl().get_unique_id(&id), "to read the address of the first worker");
  auto made = std::make_unique<NcclCollective>(gpu, start, id);
  unsetenv("NCCL_COMM_ID");
  return made;
}

}  // namespace pando::cuda
