// SPDX-License-Identifier: Apache-2.0
// A kernel's arithmetic and the bytes that it takes from other cores are divided among the tiles, not always evenly.
// What no kernel writes, such as the weights of a program that does not train, each tile keeps near itself. What the
// caches of the tiles cannot hold comes from memory, which does not depend on which tile wrote it. Each superstep adds
// a wait, which grows with the number of tiles, and more if they leave no core to the thread that fills the feed. Only
// the proportions of the figures matter: they were fitted to the times of a machine with 16 cores
// (docs/performance.md), and benchmarks/scaling shows whether the choice is the best one.
#include "backends/cpu/suggested_tiles.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/matmul_sizes.h"
#include "backends/cpu/kernels/row_blocks.h"
#include "ops/op_list.h"
#include "plan/cost.h"

namespace pando::cpu {

namespace {

// A tile's operations in a microsecond.
double arithmetic_rate(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable: return 6e3;
    case InstructionSet::neon: return 3e4;
    case InstructionSet::avx2: return 4.2e4;
    case InstructionSet::avx512: return 7.5e4;
  }
  return 3e4;
}

// Bytes in a microsecond: from a tile's own cache, from those of others, and from memory that all share.
constexpr double own_rate = 1e5, foreign_rate = 8e3, memory_rate = 2e4;
// The cache of a tile.
constexpr double cache_bytes = 1 << 20;
// A wait of two tiles, what twice as many add to it, and what the last core adds. Two cores of a Neoverse V1 wait 1.1
// microseconds.
constexpr double shortest_wait = 2.8, wait_for_twice_as_many = 2.2, wait_for_last_core = 2;
constexpr double part_of_wait_on_arm = 0.4;

// Products of matrices are that much faster. One of fewer rows has too few sums to keep the multipliers busy.
constexpr double rate_of_products = 1.6, rows_for_full_rate = 4;

double rate_of(const KernelCall& call, InstructionSet set) {
  const Shape& result = call.outputs[0].type.shape;
  const bool is_product = call.op->id == Op::matmul || call.op->id == Op::matmul_update;
  if (!is_product || result.elements() == 0) return arithmetic_rate(set);
  const auto rows = static_cast<double>(result.elements() / result[result.rank() - 1]);
  return arithmetic_rate(set) * rate_of_products * std::min(1.0, rows / rows_for_full_rate);
}

// By buffer: whether it holds the same from step to step.
std::vector<bool> kept_buffers(const Plan& plan) {
  std::vector<bool> is_kept;
  for (const Buffer& buffer : plan.buffers)
    is_kept.push_back(buffer.kind == Buffer::Kind::variable || buffer.kind == Buffer::Kind::constant);
  for (const Superstep& superstep : plan.supersteps)
    for (const KernelCall& call : superstep)
      for (const Operand& output : call.outputs)
        if (output.buffer >= 0) is_kept[static_cast<std::size_t>(output.buffer)] = false;
  return is_kept;
}

// Of all that a kernel reads and writes, what each tile keeps near itself from step to step.
double kept_bytes(const KernelCall& call, const std::vector<bool>& is_kept, InstructionSet set) {
  const bool is_product = call.op->id == Op::matmul || call.op->id == Op::matmul_update;
  // Tiles that divide the inner dimension of a product, as they do on x86-64, update the weights that they read.
  if (is_product && set != InstructionSet::neon && divided_runs(call) > 0)
    return static_cast<double>(call.op->id == Op::matmul ? call.inputs[1].type.bytes()
                                                         : 2 * call.inputs[2].type.bytes());
  double bytes = 0;
  for (const Operand& input : call.inputs)
    if (input.buffer >= 0 && is_kept[static_cast<std::size_t>(input.buffer)])
      bytes += static_cast<double>(input.type.bytes());
  return bytes;
}

// What a step uses, other than the rows that it is fed.
double used_bytes(const Plan& plan) {
  auto bytes = static_cast<double>(plan.arena_bytes);
  for (const Buffer& buffer : plan.buffers)
    if (buffer.kind == Buffer::Kind::variable || buffer.kind == Buffer::Kind::constant)
      bytes += static_cast<double>(buffer.bytes);
  return bytes;
}

// How many times as long as a fair share the tile with most of a kernel takes: images are divided into few blocks.
double unevenness(const KernelCall& call, int tiles) {
  switch (call.op->id) {
    case Op::conv2d:
    case Op::conv2d_max_pool:
    case Op::conv2d_input_gradient:
    case Op::conv2d_max_pool_input_gradient:
    case Op::max_pool:
    case Op::max_pool_gradient: break;
    default: return 1;
  }
  const std::int64_t blocks = RowBlocks::fewest_of(call.inputs[0].type.shape[0]);
  return blocks == 0 ? 1 : static_cast<double>(divide_up(blocks, tiles) * tiles) / static_cast<double>(blocks);
}

double time_of_wait(InstructionSet set, int tiles, int cores) {
  if (tiles == 1) return 0;
  return (set == InstructionSet::neon ? part_of_wait_on_arm : 1) *
         (shortest_wait + wait_for_twice_as_many * (std::log2(tiles) - 1) + (tiles == cores ? wait_for_last_core : 0));
}

}  // namespace

double estimated_time(const Plan& plan, InstructionSet set, int tiles, int cores) {
  const std::vector<bool> is_kept = kept_buffers(plan);
  const double cached = std::min(1.0, tiles * cache_bytes / std::max(used_bytes(plan), 1.0));
  double time = 0;
  for (const Superstep& superstep : plan.supersteps) {
    for (const KernelCall& call : superstep) {
      const KernelCost cost = cost_of(call);
      const double exchanged = std::max(cost.bytes - kept_bytes(call, is_kept, set), 0.0);
      const double foreign = exchanged * (tiles - 1) / tiles, own = cost.bytes - foreign;
      const double whole = cost.flops / rate_of(call, set) + cached * (own / own_rate + foreign / foreign_rate) +
                           (1 - cached) * cost.bytes / memory_rate;
      time += whole / tiles * unevenness(call, tiles);
    }
    time += time_of_wait(set, tiles, cores);
  }
  return time;
}

int suggested_tiles(std::span<const Plan* const> plans, InstructionSet set, int most) {
  int best = 1;
  double best_time = -1;
  for (int tiles = 1; tiles <= most; ++tiles) {
    double time = 0;
    for (const Plan* plan : plans)
      if (plan != nullptr) time += estimated_time(*plan, set, tiles, most);
    if (best_time < 0 || time < best_time) {
      best = tiles;
      best_time = time;
    }
  }
  return best;
}

}  // namespace pando::cpu
