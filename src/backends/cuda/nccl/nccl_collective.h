// SPDX-License-Identifier: Apache-2.0
// Messages of the host over NCCL: workers that were started without MPI exchange everything by way of their GPUs.
#pragma once
#include <memory>

#include "comm/collective_workers.h"
#include "comm/start.h"

namespace pando::cuda {

// Connects the processes that know each other's number and the address of the first one. All call it. Throws Error with
// the remedy.
std::unique_ptr<Collective> connect_by_address(const Start& start);

}  // namespace pando::cuda
