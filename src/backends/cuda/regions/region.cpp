// SPDX-License-Identifier: Apache-2.0
// Decides whether a region is worth it, and with how many blocks to a sample.
#include <algorithm>

#include "backends/cuda/regions/update_emitter.h"
#include "ops/op_list.h"

namespace pando::cuda {

namespace {

// Fewer calls than this gain little by being one.
constexpr std::ptrdiff_t least_calls = 4;
// Every cluster reads all weights. More bytes than this in total take longer than kernels that read them once.
constexpr double most_weight_bytes = 48e6;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

double weight_bytes(const PlanValues& values, const RegionCalls& found) {
  double bytes = 0;
  for (std::size_t call = 0; call < values.calls.size(); ++call) {
    if (found.membership[call] != Membership::local) continue;
    const KernelCall& own = *values.calls[call];
    for (std::size_t i = 0; i < own.inputs.size(); ++i)
      if (!reads_by_sample(own, i, found.batch)) bytes += static_cast<double>(own.inputs[i].type.bytes());
  }
  return bytes;
}

// Whether it is a whole training step. The parts of a divided one give the same bits however it is divided, which takes
// the same kernels in all of them.
bool has_update(const PlanValues& values, const RegionCalls& found) {
  for (std::size_t call = 0; call < values.calls.size(); ++call)
    if (found.membership[call] == Membership::update || values.calls[call]->op->id == Op::matmul_update) return true;
  return false;
}

// The most blocks to a sample for which all clusters run at once.
int most_ranks(const RegionLimits& limits, std::int64_t batch) {
  for (int ranks = limits.most_ranks; ranks > 1; --ranks) {
    const int known = limits.clusters_at_once[at(ranks)];
    if (batch <= (known > 0 ? known : limits.multiprocessors / ranks)) return ranks;
  }
  return 1;
}

// Gives pointers their places: inputs, outputs, then scratch. A pointer's number in a source stays its place among all.
void place_pointers(const Pointers& pointers, RegionProgram& program) {
  for (const auto& pointer : pointers.all) {
    program.order.push_back({.kind = pointer.kind, .index = 0});
    std::size_t& index = program.order.back().index;
    switch (pointer.kind) {
      case Pointers::Kind::input:
        index = program.inputs.size();
        program.inputs.push_back(pointer.operand);
        program.input_values.push_back(pointer.value);
        break;
      case Pointers::Kind::output:
        index = program.outputs.size();
        program.outputs.push_back(pointer.operand);
        program.output_values.push_back(pointer.value);
        break;
      case Pointers::Kind::scratch:
        index = program.scratch_bytes;
        program.scratch_bytes += align(pointer.bytes);
        break;
    }
  }
}

}  // namespace

std::optional<RegionProgram> make_region(const Plan& plan, const PlanValues& values, const RegionLimits& limits) {
  const RegionCalls found = find_members(plan, values);
  const auto members = std::count_if(found.membership.begin(), found.membership.end(),
                                     [](Membership kind) { return kind != Membership::outside; });
  if (found.batch < 2 || members < least_calls || !has_update(values, found)) return std::nullopt;
  const int ranks = most_ranks(limits, found.batch);
  std::optional<Emitter> made(std::in_place, plan, values, found, limits, ranks, true);
  if (weight_bytes(values, found) * made->clusters() > most_weight_bytes) return std::nullopt;
  if (!made->run() && !made.emplace(plan, values, found, limits, ranks, false).run()) return std::nullopt;
  Emitter& emitter = *made;
  UpdateEmitter updates(values, found, emitter);
  RegionProgram program;
  program.update_source = updates.run();
  // The second kernel may have added pointers.
  program.sources = emitter.sources();
  program.clusters = emitter.clusters();
  program.ranks = emitter.ranks();
  program.threads = emitter.threads();
  program.shared_bytes = emitter.shared_bytes();
  program.update_blocks = updates.blocks();
  program.update_threads = UpdateEmitter::threads;
  program.marked_calls = emitter.marked_calls();
  program.marked_samples = static_cast<int>((found.batch + program.clusters - 1) / program.clusters);
  program.calls_of_blocks = updates.calls_of_blocks();
  place_pointers(emitter.pointers(), program);
  for (int call = 0; call < static_cast<int>(values.calls.size()); ++call) {
    if (found.contains(call)) program.calls.push_back(call);
    if (found.is_before[at(call)]) program.before.push_back(call);
  }
  return program;
}

}  // namespace pando::cuda
