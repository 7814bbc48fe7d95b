// SPDX-License-Identifier: Apache-2.0
// Sums over workers of what is on their GPUs: NCCL carries the numbers, and a kernel adds them in the order of
// replicas.
#pragma once
#include "backends/cuda/devices.h"
#include "comm/device_sums.h"

namespace pando::cuda {

class NcclLink final : public SumLink {
 public:
  explicit NcclLink(const Gpu& gpu) : gpu_(gpu) {}
  SumOffer offer() const override;
  std::unique_ptr<SumDevice> connect(const std::shared_ptr<Workers>& workers, int channel) override;

 private:
  const Gpu& gpu_;
};

}  // namespace pando::cuda
