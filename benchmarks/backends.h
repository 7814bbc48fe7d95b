// SPDX-License-Identifier: Apache-2.0
// One table of training steps on several devices in one run, beside PyTorch and JAX on the same GPU.
#pragma once
#include <string>
#include <vector>

namespace pando {

// `backends` is a list such as "cuda,cpu": the GPU, in each precision, and PyTorch (eager, a CUDA graph, compiled) and
// JAX (a scan over the steps) on it; the CPU on 2 cores and on all. Steps are those of executions of 100, samples are
// in the device's memory. All models if there are no names. Throws Error for an unknown backend.
struct Comparison {
  std::string backends;
  std::vector<std::string> names = {};
  // Whether other libraries are left out, and whether the times of kernels are printed.
  bool alone = false, kernels = false;
  // A file, or empty, and what it says of this run (json_of_run). A run that is stopped leaves the lines it has
  // printed.
  std::string json = {}, run = {};
};
void compare_backends(const Comparison& comparison);

}  // namespace pando
