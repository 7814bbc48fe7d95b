#include "compiler/compile.h"

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
};

constexpr NamedPass graph_passes[] = {
    {"remove_dead_nodes", remove_dead_nodes},
    {"fold_constants", fold_constants},
    {"simplify", simplify},
    {"merge_common_subexpressions", merge_common_subexpressions},
    {"choose_layouts", choose_layouts},
    {"pool_early", pool_early},
    {"fuse_convolution_pooling", fuse_convolution_pooling},
    {"fuse_updates", fuse_updates},
    {"merge_updates", merge_updates},
    {"remove_dead_nodes", remove_dead_nodes},
    {"fuse_elementwise", fuse_elementwise},
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
  const auto report = [&](std::string_view name, const Timer& timer, std::function<std::string()> text) {
    if (options.on_pass) options.on_pass({name, timer.microseconds(), std::move(text)});
  };

  Graph graph = original;
  for (const NamedPass& pass : graph_passes) {
    if (!is_enabled(options, pass.name)) continue;
    const Timer timer;
    graph = pass.run(graph, {options.evaluate});
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
  report(memory_pass, memory_timer, [&] { return to_string(plan); });
  return plan;
}

}  // namespace pando
