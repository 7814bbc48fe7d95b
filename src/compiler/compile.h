// SPDX-License-Identifier: Apache-2.0
// compile: from a graph to a Plan, by a list of passes.
#pragma once
#include "compiler/passes/pass.h"
#include "plan/plan.h"

namespace pando {

// What on_pass is told after each pass.
struct PassReport {
  std::string_view name;
  double microseconds = 0;
  // The text form of the graph, or of the plan after the last pass; made only when called.
  Function<std::string()> text;
};

struct CompileOptions {
  std::vector<std::string> disabled_passes = {};
  bool check_numerics = false;
  bool mixed_bfloat16 = false, tf32 = false;
  Evaluate evaluate = {};
  // What the backend that will run the plan wants.
  std::string backend = "cpu";
  Capabilities capabilities = {};
  PrefersPooledGradient prefers_pooled_gradient = prefers_fewer_products;
  // Why it has no kernel for a call; empty if it has one.
  Function<std::string(const KernelCall& call)> why_unsupported = {};
  Function<void(const PassReport&)> on_pass = {};
};

// Verifies the graph before and after each pass. Throws Error for a graph that does not verify, for a disabled pass
// that does not exist, and for an op that the backend has no kernel for.
Plan compile(const Graph& graph, const CompileOptions& options = {});

// The names that disabled_passes takes, in the order in which the passes run.
std::vector<std::string> pass_names();

}  // namespace pando
