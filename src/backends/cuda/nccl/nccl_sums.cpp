// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nccl/nccl_sums.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "backends/cuda/memory.h"
#include "backends/cuda/nccl/communicator.h"
#include "backends/cuda/nccl/sum_rows.h"
#include "comm/worker_sums.h"

namespace pando::cuda {

namespace {

class NcclSums final : public SumDevice {
 public:
  NcclSums(std::shared_ptr<Communicator> communicator, std::shared_ptr<Workers> workers)
      : communicator_(std::move(communicator)), workers_(std::move(workers)) {}

  int count() const override { return communicator_->count(); }
  float* room(Room room, std::size_t numbers) override {
    Block& block = rooms_[static_cast<std::size_t>(room)];
    if (block.numbers < numbers) {
      block = {};
      block.memory = memory_of(communicator_->gpu())->allocate(numbers * sizeof(float), "sums over workers");
      block.numbers = numbers;
    }
    return reinterpret_cast<float*>(block.memory.place().address);
  }
  // From and to any GPU of this worker.
  void copy(float* to, const float* from, std::size_t numbers) override {
    use_gpu(communicator_->gpu());
    check(cudaMemcpyAsync(to, from, numbers * sizeof(float), cudaMemcpyDefault, stream_.get()), "to copy sums");
  }
  void all_gather(const float* own, float* all, std::size_t numbers) override {
    communicator_->all_gather(own, all, numbers * sizeof(float), stream_);
  }
  void all_to_all(const float* sent, float* received, std::size_t numbers) override {
    std::vector<Communicator::Message> to, from;
    for (int i = 0; i < count(); ++i) {
      const std::size_t first = static_cast<std::size_t>(i) * numbers;
      to.push_back({i, const_cast<float*>(sent + first), numbers * sizeof(float)});
      from.push_back({i, received + first, numbers * sizeof(float)});
    }
    communicator_->exchange(to, from, stream_);
  }
  void add(const float* rows, std::size_t count, std::size_t numbers, float scale, float* sums) override {
    sum_rows(rows, count, numbers, scale, sums, stream_.get());
  }
  void finish() override {
    communicator_->wait(stream_, [this] { workers_->check_others(); });
  }

 private:
  struct Block {
    Allocation memory;
    std::size_t numbers = 0;
  };
  const std::shared_ptr<Communicator> communicator_;
  const std::shared_ptr<Workers> workers_;
  const Stream stream_;
  std::array<Block, 3> rooms_;
};

// To connect GPUs takes as long as many steps, so programs share what is connected. It stays so until the process ends:
// other workers may still be busy then, and the driver may be gone.
std::shared_ptr<Communicator> communicator_for(const std::shared_ptr<Workers>& workers, int channel, int gpu) {
  struct Kept {
    std::shared_ptr<Workers> workers;
    std::shared_ptr<Communicator> communicator;
  };
  static auto& all = *new std::map<std::tuple<const Workers*, int, int>, Kept>;
  static std::mutex mutex;
  std::shared_ptr<Communicator> kept;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = all.find({workers.get(), channel, gpu}); found != all.end())
      kept = found->second.communicator;
  }
  // If one worker has another GPU now, all connect theirs again.
  if (bits_of_any_worker(*workers, sums_channel, kept ? 0 : 1) == 0) return kept;
  Nccl::UniqueId id;
  if (workers->rank() == 0) {
    use_gpu(gpu);
    nccl().check(nccl().get_unique_id(&id), "to begin to connect the GPUs of the workers");
  }
  std::vector<std::byte> bytes(sizeof id);
  std::memcpy(bytes.data(), &id, sizeof id);
  bytes = from_first_worker(*workers, sums_channel, std::move(bytes));
  std::memcpy(&id, bytes.data(), sizeof id);
  auto made = std::make_shared<Communicator>(gpu, workers->rank(), workers->count(), id);
  const std::lock_guard lock(mutex);
  all[{workers.get(), channel, gpu}] = {workers, made};
  return made;
}

}  // namespace

SumOffer NcclLink::offer() const {
  if (!nccl().problem.empty()) return SumOffer::refusal(nccl().problem);
  return {.device = gpu_.uuid, .version = nccl().version, .is_far = 1};
}

std::unique_ptr<SumDevice> NcclLink::connect(const std::shared_ptr<Workers>& workers, int channel) {
  use_gpu(gpu_.number);
  return std::make_unique<NcclSums>(communicator_for(workers, channel, gpu_.number), workers);
}

}  // namespace pando::cuda
