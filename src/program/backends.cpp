// SPDX-License-Identifier: Apache-2.0
// The table of backends. "cpu" is always there; others add themselves.
#include "program/backends.h"

#include <cstdlib>
#include <map>

#include "backends/cpu/cpu_backend.h"
#include "base/text.h"
#ifdef PANDO_WITH_CUDA
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/nccl/measure.h"
#include "backends/cuda/nccl/nccl_collective.h"
#include "backends/cuda/nccl/program.h"
#include "backends/cuda/regions/program.h"
#endif

namespace pando {

namespace {

std::unique_ptr<Backend> make_cpu(const DeviceOptions& options) {
  return std::make_unique<cpu::CpuBackend>(options.tiles, options.instruction_set);
}

std::unique_ptr<Backend> make_cuda(const DeviceOptions&) {
  if (const std::string problem = why_no_gpu(); !problem.empty()) throw Error(problem);
#ifdef PANDO_WITH_CUDA
  return std::make_unique<cuda::CudaBackend>();
#else
  return nullptr;
#endif
}

std::unique_ptr<Backend> make_best(const DeviceOptions& options) {
  return why_no_gpu().empty() ? make_cuda(options) : make_cpu(options);
}

std::map<std::string, MakeBackend>& registered_backends() {
  static std::map<std::string, MakeBackend> backends = {{"auto", make_best}, {"cpu", make_cpu}, {"cuda", make_cuda}};
  return backends;
}

}  // namespace

#ifdef PANDO_WITH_CUDA
std::string why_no_gpu() { return cuda::why_unusable(cuda::machine()); }
std::string why_no_gpu_compiler() { return why_no_gpu().empty() ? cuda::why_no_runtime_compiler() : why_no_gpu(); }

std::string why_no_nccl() { return why_no_gpu().empty() ? cuda::why_no_nccl() : why_no_gpu(); }
std::string nccl_version() { return why_no_nccl().empty() ? cuda::version_of_nccl() : ""; }
std::unique_ptr<Collective> connect_by_nccl(const Start& start) { return cuda::connect_by_address(start); }

GpuSumCost measure_gpu_sums(const std::shared_ptr<Workers>& workers) {
  const cuda::CudaBackend gpu;
  const cuda::MeasuredSums found = cuda::measure_sums(workers, gpu);
  return {found.latency, found.bandwidth, found.copies, found.large_sum};
}

std::vector<GpuInfo> gpus() {
  std::vector<GpuInfo> list;
  if (!why_no_gpu().empty()) return list;
  for (const cuda::Gpu& gpu : cuda::machine().gpus)
    list.push_back({gpu.name, "sm_" + std::to_string(gpu.architecture), gpu.multiprocessors, gpu.memory_bytes});
  return list;
}
#else
std::string why_no_gpu() {
  return "this build of Pando has no backend 'cuda'; build it with -DPANDO_WITH_CUDA=ON, or use the backend 'cpu'";
}

std::string why_no_gpu_compiler() { return why_no_gpu(); }
std::string why_no_nccl() { return why_no_gpu(); }
std::string nccl_version() { return ""; }
std::unique_ptr<Collective> connect_by_nccl(const Start&) { throw Error(why_no_nccl()); }
GpuSumCost measure_gpu_sums(const std::shared_ptr<Workers>&) { throw Error(why_no_nccl()); }
std::vector<GpuInfo> gpus() { return {}; }
#endif

void register_backend(const std::string& name, MakeBackend make) { registered_backends()[name] = std::move(make); }

std::vector<std::string> available_backends() {
  std::vector<std::string> names;
  for (const auto& [name, make] : registered_backends()) names.push_back(name);
  return names;
}

std::unique_ptr<Backend> make_backend(const DeviceOptions& options) {
  const char* environment = std::getenv("PANDO_BACKEND");
  const bool is_chosen = options.backend.empty() && environment != nullptr && *environment != 0;
  const std::string name = is_chosen ? environment : options.backend.empty() ? "cpu" : options.backend;
  const auto found = registered_backends().find(name);
  if (found == registered_backends().end())
    throw Error((is_chosen ? "PANDO_BACKEND: " : "") + unknown_name("backend", name, available_backends()));
  return found->second(options);
}

}  // namespace pando
