// SPDX-License-Identifier: Apache-2.0
// A region: one GPU kernel that runs all work of a step on single samples, and a second one that sums over samples and
// updates parameters. In the first kernel a cluster of blocks takes a sample through all its calls of the Plan. Here a
// region is plain data and source text, which needs no GPU.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "backends/cuda/regions/values.h"

namespace pando::cuda {

// What a GPU offers a region.
struct RegionLimits {
  int multiprocessors = 1;
  // The shared memory of a block.
  std::size_t shared_bytes = 48 * 1024;
  // The most blocks of a cluster; 1 where there are no clusters.
  int most_ranks = 1;
  // By the blocks of a cluster: how many clusters run at once, with a block on each multiprocessor. The multiprocessors
  // of a cluster are neighbours, and groups of neighbours differ in size, so there are fewer clusters than one would
  // think. 0: not known.
  std::array<int, 9> clusters_at_once = {};
};

struct RegionPointer {
  enum class Kind : std::uint8_t { input, output, scratch };
  Kind kind;
  std::size_t index;
};

struct RegionProgram {
  // The kernel "region", run by `clusters` clusters of `ranks` blocks: sources with the functions that it calls, then
  // its own. They can be compiled apart and linked; one after the other they are one source.
  std::vector<std::string> sources;
  // The kernel "update", which may be empty.
  std::string update_source;
  int clusters = 1, ranks = 1, threads = 1, update_blocks = 0, update_threads = 1;
  std::size_t shared_bytes = 0;
  // The pointers that both kernels take, in their order: an input, an output, or so many bytes into the scratch.
  std::vector<RegionPointer> order;
  std::vector<Operand> inputs, outputs;
  std::size_t scratch_bytes = 0;
  // The numbers of its calls, in order, and of those outside of it that must run before it.
  std::vector<int> calls, before;
  // The values of `inputs` and of `outputs`.
  std::vector<int> input_values, output_values;
  // Whose time a recorded step measures (marks.h): the calls after which the first cluster reads the clock, for each of
  // its samples; how many samples it has; and the call of each block of the second kernel.
  std::vector<int> marked_calls, calls_of_blocks;
  int marked_samples = 1;
};

// The region of a Plan; nothing if there is none that is worth it.
std::optional<RegionProgram> make_region(const Plan& plan, const PlanValues& values, const RegionLimits& limits);

// What a source may include: names and texts.
struct RegionHeader {
  const char* name;
  std::string text;
};
std::vector<RegionHeader> region_headers();

// Why the kernels of regions cannot be compiled here, as a sentence with the remedy; empty if they can.
std::string why_no_runtime_compiler();

}  // namespace pando::cuda
