// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/use_regions.h"

#include <fmt/format.h>

#include <future>
#include <set>

#include "backends/cuda/memory.h"
#include "backends/cuda/regions/clusters.h"
#include "backends/cuda/regions/marks.h"
#include "backends/cuda/regions/program.h"
#include "backends/cuda/regions/runtime_compiler.h"
#include "base/environment.h"
#include "base/notice.h"

namespace pando::cuda {

namespace {

// Clusters, and kernels that begin before the one before has ended, came with compute capability 9.0. Larger clusters
// than 8 need not be possible.
constexpr int first_with_clusters = 90, first_with_overlap = 90, most_ranks = 8;

// Both kernels of a region; the second one may be missing.
struct RegionFunctions {
  LoadedKernel region, update;
};
// Both are compiled at once, which takes half a second or so.
RegionFunctions load_region(const RegionProgram& program, const std::vector<std::string>& sources,
                            const std::string& update_source, int architecture) {
  std::future<std::string> compiled;
  if (!program.update_source.empty())
    compiled = std::async(std::launch::async,
                          [&] { return compiled_kernel({update_source}, program.update_threads, architecture); });
  RegionFunctions loaded;
  loaded.region = load_kernel(compiled_kernel(sources, program.threads, architecture), "region", program.ranks,
                              program.shared_bytes);
  if (compiled.valid()) loaded.update = load_kernel(compiled.get(), "update", 1, 0);
  return loaded;
}

class RegionKernel final : public Kernel {
 public:
  RegionKernel(RegionProgram program, const Gpu& gpu)
      : program_(std::move(program)),
        gpu_(gpu),
        plain_(load_region(program_, program_.sources, program_.update_source, gpu.architecture)) {}

  std::size_t scratch_bytes() const override { return program_.scratch_bytes; }

  void launch(const Operands& operands, cudaStream_t stream) const override {
    const std::vector<void*> pointers = pointers_of(operands);
    const bool may_overlap = gpu_.architecture >= first_with_overlap;
    launch_region(plain_, pointers, may_overlap && operands.follows_itself, stream);
    if (plain_.update.function != nullptr) launch_update(plain_, pointers, may_overlap, stream);
  }

  void prepare_recording() override {
    if (marks_.place()) return;
    marked_ = load_region(program_, marked(program_.sources), marked(program_.update_source), gpu_.architecture);
    marks_ = memory_of(gpu_.number)->allocate(mark_bytes(region_marks(program_) + update_marks(program_)), "a profile");
  }
  std::size_t recorded_parts() const override { return plain_.update.function == nullptr ? 1 : 2; }
  void launch_recorded(std::size_t part, const Operands& operands, cudaStream_t stream) const override {
    std::vector<void*> pointers = pointers_of(operands);
    pointers.push_back(reinterpret_cast<void*>(marks_of(part).address));
    if (part == 0) launch_region(marked_, pointers, false, stream);
    else launch_update(marked_, pointers, false, stream);
  }
  std::vector<CallCycles> recorded_calls(std::size_t part) const override {
    std::vector<std::uint64_t> marks(part == 0 ? region_marks(program_) : update_marks(program_));
    const Place from = marks_of(part);
    from.memory->read(reinterpret_cast<std::byte*>(marks.data()), from, mark_bytes(marks.size()));
    return part == 0 ? region_cycles(program_, marks) : update_cycles(program_, marks);
  }

 private:
  static std::size_t mark_bytes(std::size_t count) { return count * sizeof(std::uint64_t); }
  // Those of the second kernel follow those of the first.
  Place marks_of(std::size_t part) const {
    return marks_.place() + (part == 0 ? 0 : mark_bytes(region_marks(program_)));
  }

  std::vector<void*> pointers_of(const Operands& operands) const {
    std::vector<void*> pointers;
    for (const RegionPointer& pointer : program_.order) {
      switch (pointer.kind) {
        case RegionPointer::Kind::input:
          pointers.push_back(const_cast<std::byte*>(operands.inputs[pointer.index]));
          break;
        case RegionPointer::Kind::output: pointers.push_back(operands.outputs[pointer.index]); break;
        case RegionPointer::Kind::scratch: pointers.push_back(operands.scratch + pointer.index); break;
      }
    }
    return pointers;
  }
  void launch_region(const RegionFunctions& own, std::span<void* const> pointers, bool overlaps,
                     cudaStream_t stream) const {
    own.region.launch(program_.clusters * program_.ranks, program_.ranks, program_.threads, program_.shared_bytes,
                      pointers, overlaps, stream);
  }
  void launch_update(const RegionFunctions& own, std::span<void* const> pointers, bool overlaps,
                     cudaStream_t stream) const {
    own.update.launch(program_.update_blocks, 1, program_.update_threads, 0, pointers, overlaps, stream);
  }

  RegionProgram program_;
  const Gpu gpu_;
  // Those of recorded steps are made when the first of them is near.
  RegionFunctions plain_, marked_;
  Allocation marks_;
};

RegionLimits limits_of(const Gpu& gpu) {
  RegionLimits limits{.multiprocessors = gpu.multiprocessors, .shared_bytes = gpu.shared_bytes};
  if (gpu.architecture < first_with_clusters) return limits;
  use_gpu(gpu.number);
  for (int ranks = 2; ranks <= most_ranks; ++ranks) {
    const int clusters = clusters_at_once(ranks, gpu.shared_bytes);
    if (clusters == 0) break;
    limits.most_ranks = ranks;
    limits.clusters_at_once[static_cast<std::size_t>(ranks)] = clusters;
  }
  return limits;
}

// Gives values new memory at the end of the arena, and points all who use them there.
class Mover {
 public:
  Mover(Plan& plan, const PlanValues& values, PlanKernels& kernels) : plan_(plan), values_(values), kernels_(kernels) {}

  // Only what is in the arena moves. Returns the buffer.
  std::int32_t move(int value) {
    const PlanValue& known = values_.values[static_cast<std::size_t>(value)];
    const Buffer old = plan_.buffers[static_cast<std::size_t>(known.buffer)];
    if (old.kind != Buffer::Kind::arena) return known.buffer;
    const auto made = static_cast<std::int32_t>(plan_.buffers.size());
    plan_.buffers.push_back({.kind = Buffer::Kind::arena, .offset = plan_.arena_bytes, .bytes = old.bytes});
    plan_.arena_bytes += align(old.bytes);
    for (int reader : known.readers)
      point(values_.inputs[static_cast<std::size_t>(reader)], value, kernels_[static_cast<std::size_t>(reader)].inputs,
            made);
    if (known.producer >= 0)
      point(values_.outputs[static_cast<std::size_t>(known.producer)], value,
            kernels_[static_cast<std::size_t>(known.producer)].outputs, made);
    for (Port& output : plan_.outputs)
      if (known.leaves && output.buffer == known.buffer) output.buffer = made;
    return made;
  }

 private:
  static void point(const std::vector<int>& all, int value, std::vector<Operand>& operands, std::int32_t buffer) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] == value) operands[i].buffer = buffer;
  }

  Plan& plan_;
  const PlanValues& values_;
  PlanKernels& kernels_;
};

void tell_about(const RegionProgram& program, std::size_t calls) {
  if (environment("PANDO_CUDA_REGIONS") != "tell") return;
  tell(fmt::format(
      "cuda: {} of {} kernels became a region of {} clusters of {} blocks with {} KB of shared memory each, and {} "
      "blocks that sum and update",
      program.calls.size(), calls, program.clusters, program.ranks, (program.shared_bytes + 1023) / 1024,
      program.update_blocks));
}

}  // namespace

void use_regions(Plan& plan, const Gpu& gpu, PlanKernels& kernels) {
  // Products of float32 are no slower in a region than those of smaller types, which plans may allow.
  if (plan.check_numerics || environment("PANDO_CUDA_REGIONS") == "0") return;
  if (!why_no_runtime_compiler().empty()) return;
  const PlanValues values(plan);
  std::optional<RegionProgram> program = make_region(plan, values, limits_of(gpu));
  if (!program) return;
  tell_about(*program, values.calls.size());
  Mover mover(plan, values, kernels);
  for (int call : program->before)
    for (int value : values.outputs[static_cast<std::size_t>(call)])
      if (value >= 0) {
        const std::int32_t buffer = mover.move(value);
        for (std::size_t i = 0; i < program->inputs.size(); ++i)
          if (program->input_values[i] == value) program->inputs[i].buffer = buffer;
      }
  for (std::size_t i = 0; i < program->outputs.size(); ++i)
    program->outputs[i].buffer = mover.move(program->output_values[i]);

  const std::set<int> calls(program->calls.begin(), program->calls.end()),
      before(program->before.begin(), program->before.end());
  PlanKernels ordered;
  for (int call : before) ordered.push_back(std::move(kernels[static_cast<std::size_t>(call)]));
  const PlanKernel& first = kernels[static_cast<std::size_t>(program->calls.front())];
  PlanKernel region{.kernel = nullptr,
                    .inputs = program->inputs,
                    .outputs = program->outputs,
                    .superstep = first.superstep,
                    .call = first.call,
                    .number = first.number};
  region.kernel = std::make_unique<RegionKernel>(std::move(*program), gpu);
  ordered.push_back(std::move(region));
  for (int call = 0; call < static_cast<int>(kernels.size()); ++call)
    if (!calls.contains(call) && !before.contains(call))
      ordered.push_back(std::move(kernels[static_cast<std::size_t>(call)]));
  kernels = std::move(ordered);
}

}  // namespace pando::cuda
