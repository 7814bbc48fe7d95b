// SPDX-License-Identifier: Apache-2.0
// Which calls of a region took the time of a recorded step. For such steps its kernels are compiled again, with a clock
// that is read where their sources have a mark; those of other steps have none. In the first kernel a thread of the
// first cluster reads it when it begins and after each call, sample by sample; all clusters do the same. In the second
// one a thread of each block reads it when it begins and ends, as blocks work for different calls.
#pragma once
#include "backends/cuda/recording.h"
#include "backends/cuda/regions/program.h"

namespace pando::cuda {

// The source of a kernel with its clock. It takes one pointer more, to its marks, which are 64-bit numbers.
std::string marked(const std::string& source);
std::vector<std::string> marked(std::vector<std::string> sources);

std::size_t region_marks(const RegionProgram& program);
std::size_t update_marks(const RegionProgram& program);

// The cycles between marks, summed over samples or blocks: each call once, in the order of the marks.
std::vector<CallCycles> region_cycles(const RegionProgram& program, std::span<const std::uint64_t> marks);
std::vector<CallCycles> update_cycles(const RegionProgram& program, std::span<const std::uint64_t> marks);

}  // namespace pando::cuda
