// SPDX-License-Identifier: Apache-2.0
// The speed of the machine itself.
#pragma once

namespace pando {

// fp32 multiply-adds in registers, on `threads` threads at once, in GFLOP/s: nothing that computes in fp32 is faster.
double measure_multiply_add_peak(int threads);

}  // namespace pando
