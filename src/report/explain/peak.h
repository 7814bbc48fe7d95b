// SPDX-License-Identifier: Apache-2.0
// The speed of the machine itself, to which `pando bench` and the benchmarks compare that of a step.
#pragma once
#include <string>

namespace pando {

// fp32 multiply-adds in registers of an instruction set, on `threads` threads at once, in GFLOP/s: nothing that
// computes in fp32 by it is faster.
double measure_multiply_add_peak(int threads, const std::string& instruction_set);

}  // namespace pando
