// SPDX-License-Identifier: Apache-2.0
// Makes a kernel for each call of a plan, by a table with a factory for each op: an op without a kernel does not link.
#include "backends/cuda/cuda_backend.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "backends/cuda/executor.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/sequence.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/nccl/nccl_sums.h"
#include "backends/cuda/regions/use_regions.h"
#include "comm/start.h"
#include "ops/op_list.h"

namespace pando::cuda {

namespace {

// Null for ops that only say something about a graph.
KernelFactory factory_of(const OpDefinition& op) {
  static constexpr KernelFactory factories_of_ops[] = {
#define PANDO_SOURCE(name) nullptr,
#define PANDO_SPAN(name) nullptr,
#define PANDO_VIEW(name) nullptr,
#define PANDO_OP(name) factories::name,
#include "ops/ops.def"
  };
  return factories_of_ops[static_cast<std::size_t>(op.id)];
}

// The plan is the executor's own.
PlanKernels make_kernels(Plan& plan, const Gpu& gpu) {
  const KernelContext context{.mixed_bfloat16 = plan.mixed_bfloat16,
                              .tf32 = plan.tf32,
                              .multiprocessors = gpu.multiprocessors,
                              .architecture = gpu.architecture,
                              .shared_bytes = gpu.shared_bytes};
  PlanKernels kernels;
  for (std::size_t s = 0; s < plan.supersteps.size(); ++s)
    for (std::size_t k = 0; k < plan.supersteps[s].size(); ++k) {
      const KernelCall& call = plan.supersteps[s][k];
      kernels.push_back({.kernel = factory_of(*call.op)(call, context),
                         .inputs = call.inputs,
                         .outputs = call.outputs,
                         .superstep = s,
                         .call = k,
                         .number = kernels.size()});
    }
  use_regions(plan, gpu, kernels);
  return kernels;
}

// How many backends each GPU has.
struct Uses {
  std::mutex mutex;
  std::vector<int> counts;
};
Uses& uses() {
  static auto& all = *new Uses;
  return all;
}

const Gpu& take_gpu() {
  const Machine& found = machine();
  if (const std::string problem = cuda::why_unusable(found); !problem.empty()) throw Error(problem);
  const std::lock_guard lock(uses().mutex);
  std::vector<int>& counts = uses().counts;
  counts.resize(found.gpus.size());
  const Neighbours started = find_neighbours();
  const std::vector<int> own = own_gpus(static_cast<int>(found.gpus.size()), started.rank, started.count);
  const auto count_of = [&](int gpu) -> int& { return counts[static_cast<std::size_t>(gpu)]; };
  const int least = *std::min_element(own.begin(), own.end(), [&](int a, int b) { return count_of(a) < count_of(b); });
  ++count_of(least);
  return found.gpus[static_cast<std::size_t>(least)];
}

}  // namespace

std::string why_no_kernel(const KernelCall& call) {
  if (factory_of(*call.op) == nullptr) return "the op has no kernel";
  // Their kernels would leave out the program and its operands.
  const bool is_input_gradient =
      call.op->id == Op::conv2d_input_gradient || call.op->id == Op::conv2d_max_pool_input_gradient;
  return is_input_gradient && has_epilogue(call) ? "its kernel cannot end with an epilogue" : "";
}

CudaBackend::CudaBackend()
    : gpu_(take_gpu()), memory_(memory_of(gpu_.number)), link_(std::make_shared<NcclLink>(gpu_)) {}

CudaBackend::~CudaBackend() {
  const std::lock_guard lock(uses().mutex);
  --uses().counts[static_cast<std::size_t>(gpu_.number)];
}

std::string CudaBackend::instruction_set() const { return fmt::format("sm_{}", gpu_.architecture); }

Capabilities CudaBackend::capabilities() const {
  return {.most_instructions = most_fused_instructions,
          .epilogues = true,
          // In a region, elementwise ops follow the gradient in its threads without being a part of it.
          .gradient_epilogues = false,
          // A region takes products of single matrices, but no views.
          .single_products_in_place = false,
          .early_pooling = true,
          .convolution_with_pooling = true,
          .matmul_with_update = true,
          .merged_updates = true};
}

const std::shared_ptr<Memory>& CudaBackend::staging() const { return pinned_memory(); }

// Half of what is free: programs that are made later need memory too.
std::size_t CudaBackend::room_for_samples() const { return free_bytes(gpu_.number) / 2; }

std::string CudaBackend::why_unsupported(const KernelCall& call) const { return why_no_kernel(call); }

LoadedPlans CudaBackend::load(std::span<const Plan* const> plans, const BindVariable& bind) {
  use_gpu(gpu_.number);
  std::vector<std::unique_ptr<Plan>> own;
  std::vector<const Plan*> places;
  std::vector<PlanKernels> kernels;
  for (const Plan* plan : plans) {
    own.push_back(plan == nullptr ? nullptr : std::make_unique<Plan>(*plan));
    places.push_back(own.back().get());
    kernels.push_back(plan == nullptr ? PlanKernels() : make_kernels(*own.back(), gpu_));
  }
  const auto working = std::make_shared<const WorkingMemory>(places, kernels, memory_);
  LoadedPlans loaded{.working_bytes = working->bytes()};
  for (std::size_t i = 0; i < plans.size(); ++i)
    loaded.executables.push_back(own[i] == nullptr ? nullptr
                                                   : std::make_unique<Executor>(*own[i], std::move(kernels[i]), working,
                                                                                gpu_.number, memory_, bind));
  return loaded;
}

}  // namespace pando::cuda
