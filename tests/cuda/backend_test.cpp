// SPDX-License-Identifier: Apache-2.0
// What the backend "cuda" says on machines where it cannot be used, word for word. Needs no GPU; a build with CUDA must
// also start on machines without a driver, such as those of CI.
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/devices.h"
#include "backends/cuda/nccl/program.h"
#include "graph/elementwise_program.h"
#include "ops/op_list.h"
#include "tests/message.h"

namespace pando {
namespace {

using cuda::Machine;
using cuda::why_unusable;

Machine machine_with(int architecture) {
  return {.driver_version = 13020,
          .runtime_version = 13000,
          .gpus = {{.number = 0, .name = "NVIDIA T4", .memory_bytes = 1, .architecture = architecture}}};
}

TEST(CudaBackend, IsUsableOnAmpereAndNewer) {
  EXPECT_EQ(why_unusable(machine_with(80)), "");
  EXPECT_EQ(why_unusable(machine_with(90)), "");
}

TEST(CudaBackend, SaysWhatIsMissing) {
  EXPECT_EQ(why_unusable({.driver_version = 0, .runtime_version = 13000}),
            "the backend 'cuda' finds no driver for NVIDIA GPUs; install one (nvidia-smi shows it), or use the backend "
            "'cpu'");
  EXPECT_EQ(why_unusable({.driver_version = 12040, .runtime_version = 13000}),
            "the backend 'cuda' needs a driver for CUDA 13.0 but that of this machine is for CUDA 12.4; update the "
            "NVIDIA driver, or use the backend 'cpu'");
  EXPECT_EQ(why_unusable({.driver_version = 13000, .runtime_version = 13000, .failure = "unknown error"}),
            "the backend 'cuda' cannot use the GPU: unknown error; look at nvidia-smi, or use the backend 'cpu'");
  EXPECT_EQ(why_unusable({.driver_version = 13000, .runtime_version = 13000}),
            "the backend 'cuda' finds no NVIDIA GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use the backend "
            "'cpu'");
  EXPECT_EQ(why_unusable(machine_with(75)),
            "the backend 'cuda' needs compute capability 8.0 but GPU 0, NVIDIA T4, has 7.5; leave it out with "
            "CUDA_VISIBLE_DEVICES, or use the backend 'cpu'");
}

TEST(CudaBackend, RefusesWhatItHasNoKernelFor) {
  const Attributes epilogue = {{"epilogue", std::make_shared<const ElementwiseProgram>()}};
  for (const OpDefinition* op : all_ops()) {
    const bool computes = op->role == Role::compute && !op->is_strided;
    const bool is_input_gradient = op->id == Op::conv2d_input_gradient || op->id == Op::conv2d_max_pool_input_gradient;
    const std::string alone = computes ? "" : "the op has no kernel";
    EXPECT_EQ(cuda::why_no_kernel({op, {}, {}, {}, ""}), alone) << op->name;
    EXPECT_EQ(cuda::why_no_kernel({op, epilogue, {}, {}, ""}),
              is_input_gradient ? "its kernel cannot end with an epilogue" : alone)
        << op->name;
  }
}

TEST(CudaBackend, WorkersOfAMachineTakeDifferentGpus) {
  using Gpus = std::vector<int>;
  EXPECT_EQ(cuda::own_gpus(4, 0, 1), (Gpus{0, 1, 2, 3}));
  EXPECT_EQ(cuda::own_gpus(4, 1, 2), (Gpus{1, 3}));
  EXPECT_EQ(cuda::own_gpus(4, 3, 4), (Gpus{3}));
  EXPECT_EQ(cuda::own_gpus(3, 1, 2), (Gpus{1}));
  EXPECT_EQ(cuda::own_gpus(2, 5, 8), (Gpus{1})) << "more workers than GPUs";
  EXPECT_EQ(cuda::own_gpus(4, 2, 0), (Gpus{2})) << "how many workers there are is not known";
}

// Where NCCL is installed, it is found; elsewhere the message has the remedy.
TEST(CudaBackend, SaysWhetherThereIsNccl) {
  const std::string problem = cuda::why_no_nccl();
  if (problem.empty()) EXPECT_EQ(cuda::version_of_nccl().substr(0, 2), "2.");
  else
    EXPECT_TRUE(problem.find("libnccl.so.2 is missing; install NCCL") == 0 ||
                problem.find("install NCCL 2.13 or later") != std::string::npos)
        << problem;
}

TEST(CudaBackend, SaysHowMuchMemoryIsFree) {
  EXPECT_EQ(cuda::out_of_memory(std::size_t{3} << 30, std::size_t{1} << 30, "variable 'w'"),
            "cannot allocate 3.0 GiB for variable 'w' on the GPU, which has 1.0 GiB free; use a smaller batch or a "
            "smaller model, or end other programs that use the GPU");
}

TEST(CudaBackend, IsRefusedWhereThereIsNoGpuAndAutoTakesTheCpuThere) {
  const std::string problem = why_no_gpu();
  EXPECT_EQ(gpus().empty(), !problem.empty());
  EXPECT_EQ(Device({.tiles = 1, .backend = "auto"}).backend(), problem.empty() ? "cuda" : "cpu");
  if (!problem.empty()) EXPECT_EQ(message([] { Device({.backend = "cuda"}); }), problem);
  else EXPECT_EQ(Device({.backend = "cuda"}).backend(), "cuda");
}

}  // namespace
}  // namespace pando
