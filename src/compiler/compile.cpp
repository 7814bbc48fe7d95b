// SPDX-License-Identifier: Apache-2.0
// The list of passes, and the way through it: a graph becomes better graphs, then supersteps, then a Plan with memory.
// Each pass takes and returns a whole graph that is verified, so that any of them can be switched off.
#include "compiler/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "compiler/lower/emit_plan.h"
#include "compiler/lower/schedule.h"
#include "graph/verify.h"

namespace pando {

namespace {

struct NamedPass {
  std::string_view name;
  GraphPass run;
  // What the backend must be capable of; null if it is for all.
  bool Capabilities::*needs = nullptr;
};

// Each pass stands where those after it gain the most by it. pass.h shows each at work.
constexpr NamedPass graph_passes[] = {
    // First, so that no pass works on what tracing and autodiff left unused; fold_constants would even compute it.
    {"remove_dead_nodes", remove_dead_nodes},
    // Before simplify, which looks for constants that are 0 or 1: some are the result of folding.
    {"fold_constants", fold_constants},
    // Before merging: nodes that differ by an operation without effect are equal once it is gone.
    {"simplify", simplify},
    // Before all fusions: equal nodes inside different fused nodes would not be found. Fusions also ask whether a
    // value has one user, and merging changes the answer.
    {"merge_common_subexpressions", merge_common_subexpressions},
    // Before the passes that look for one op next to another: a transpose between the two hides them.
    {"choose_layouts", choose_layouts},
    // Before fuse_convolution_pooling: with bias and activation out of the way, the pooling is next to its convolution.
    {"pool_early", pool_early, &Capabilities::early_pooling},
    // Before fuse_elementwise, which then makes bias and activation the epilogue of convolution and pooling together.
    {"fuse_convolution_pooling", fuse_convolution_pooling, &Capabilities::convolution_with_pooling},
    // After pool_early, which moves the gradient of relu before that of the pooling.
    {"fuse_pooling_gradients", fuse_pooling_gradients, &Capabilities::convolution_with_pooling},
    // Before merge_updates: a matmul can take in the update of one parameter, but not a merged update of several.
    {"fuse_updates", fuse_updates, &Capabilities::matmul_with_update},
    // After fuse_updates: it merges what that leaves.
    {"merge_updates", merge_updates, &Capabilities::merged_updates},
    // Again: the fusions of convolutions and of updates keep the nodes that they replace. Those would have no kernel,
    // but what they read would stay in memory for them.
    {"remove_dead_nodes", remove_dead_nodes},
    // Late, because the passes above look for single ops, which it hides in programs and epilogues.
    {"fuse_elementwise", fuse_elementwise},
    // After all: the passes above look for transposes and slices themselves.
    {"read_factors_in_place", read_factors_in_place, &Capabilities::products_in_place},
    // After it: where a transpose is between two products, the second one reads it in place, and the first may keep an
    // epilogue.
    {"permute_products", permute_products, &Capabilities::products_in_place},
};
// If these are disabled, each kernel has its own superstep and each value its own memory.
constexpr std::string_view schedule_pass = "schedule", memory_pass = "plan_memory";

bool is_enabled(const CompileOptions& options, std::string_view pass) {
  return std::find(options.disabled_passes.begin(), options.disabled_passes.end(), pass) ==
         options.disabled_passes.end();
}

void check_names(const CompileOptions& options) {
  const std::vector<std::string> known = pass_names();
  for (const std::string& name : options.disabled_passes)
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Error(unknown_name("pass", name, known));
}

void check_kernels(const Plan& plan, const CompileOptions& options) {
  if (!options.why_unsupported) return;
  for (const Superstep& superstep : plan.supersteps)
    for (const KernelCall& call : superstep)
      if (const std::string reason = options.why_unsupported(call); !reason.empty())
        throw Error(fmt::format("the backend '{}' has no kernel for {}{}: {}; use another backend", options.backend,
                                call.op->name, call.name.empty() ? "" : fmt::format(" in '{}'", call.name), reason));
}

class Timer {
 public:
  double microseconds() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const NamedPass& pass : graph_passes)
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
  names.emplace_back(schedule_pass);
  names.emplace_back(memory_pass);
  return names;
}

Plan compile(const Graph& original, const CompileOptions& options) {
  check_names(options);
  verify(original);
  const auto report = [&](std::string_view name, const Timer& timer, Function<std::string()> text) {
    if (options.on_pass) options.on_pass({name, timer.microseconds(), std::move(text)});
  };

  Graph graph = original;
  for (const NamedPass& pass : graph_passes) {
    if (!is_enabled(options, pass.name) || (pass.needs != nullptr && !(options.capabilities.*pass.needs))) continue;
    const Timer timer;
    graph = pass.run(graph,
                     {options.evaluate, options.capabilities, options.prefers_pooled_gradient, options.mixed_bfloat16});
    verify(graph);
    report(pass.name, timer, [&] { return to_string(graph); });
  }

  const Timer schedule_timer;
  const Schedule supersteps = schedule(graph, !is_enabled(options, schedule_pass));
  report(schedule_pass, schedule_timer, [&] { return to_string(emit_plan(graph, supersteps, false)); });

  const Timer memory_timer;
  Plan plan = emit_plan(graph, supersteps, is_enabled(options, memory_pass));
  plan.check_numerics = options.check_numerics;
  plan.mixed_bfloat16 = options.mixed_bfloat16;
  plan.tf32 = options.tf32;
  report(memory_pass, memory_timer, [&] { return to_string(plan); });
  check_kernels(plan, options);
  return plan;
}

}  // namespace pando
