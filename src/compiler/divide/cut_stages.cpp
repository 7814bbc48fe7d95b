// SPDX-License-Identifier: Apache-2.0
// Each stage is grown backwards from what it must deliver: outputs, sums, and values that other stages use. A value
// that skips stages passes through all of them, so that every device talks to its neighbours alone.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/divide/divide.h"
#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

namespace {

std::string label(const Node& node) { return node.name.empty() ? std::string(node.op->name) : node.name; }

class StageCutter {
 public:
  StageCutter(const Graph& graph, const std::vector<std::vector<std::int32_t>>& sums)
      : graph_(graph), sums_(sums), stages_(static_cast<int>(sums.size())), up_(sums.size()), down_(sums.size()) {}

  std::vector<Graph> cut() {
    if (stages_ > 1) {
      check_stageless();
      check_variables();
      find_crossings();
    }
    std::vector<Graph> parts;
    for (int stage = 0; stage < stages_; ++stage) parts.push_back(part_of(stage));
    return parts;
  }

 private:
  std::int32_t stage_of(ValueId id) const {
    const Node& node = graph_.node(id);
    return is_source(node) ? any_stage : stages_ == 1 ? 0 : node.stage;
  }

  void check_stageless() const {
    for (const Node& node : graph_.nodes())
      for (ValueId input : node.inputs)
        if (node.stage == any_stage && stage_of(input) != any_stage)
          throw Error(fmt::format("'{}' belongs to no pipeline stage but uses '{}' of stage {}; make it in a stage",
                                  label(node), label(graph_.node(input)), stage_of(input)));
  }

  // One stage would change the variable while the other uses it. Variables that only the update changes may be used in
  // several stages.
  void check_variables() const {
    std::map<ValueId, std::int32_t> user;
    for (const Assignment& assignment : graph_.assignments()) user[assignment.variable] = home_of(assignment.value);
    for (const Node& node : graph_.nodes())
      for (ValueId input : node.inputs) {
        const auto known = user.find(input);
        if (known == user.end() || node.stage == any_stage || known->second == node.stage) continue;
        throw Error(
            fmt::format("'{}', which every micro-batch changes, is used in the pipeline stages {} and {}; put "
                        "what uses it into one stage",
                        graph_.node(input).attributes.text("name"), std::min(known->second, node.stage),
                        std::max(known->second, node.stage)));
      }
  }

  // up_[b]: what passes from stage b to b + 1; down_[b]: what passes from b + 1 to b.
  void find_crossings() {
    for (const Node& node : graph_.nodes())
      for (ValueId input : node.inputs) cross(input, node.stage);
    // The gradient of a + b is that of their sum: it may come from a later stage as it is.
    for (const Output& output : graph_.outputs())
      for (int stage = 0; stage < stages_; ++stage)
        if (output.kind == PortKind::sum && needs(stage, output)) cross(output.value, stage);
  }

  void cross(ValueId value, std::int32_t to) {
    const std::int32_t from = stage_of(value);
    if (from == any_stage || to == any_stage) return;
    for (std::int32_t border = from; border < to; ++border) up_[static_cast<std::size_t>(border)].insert(value);
    for (std::int32_t border = to; border < from; ++border) down_[static_cast<std::size_t>(border)].insert(value);
  }

  int home_of(ValueId id) const {
    const std::int32_t stage = stage_of(id);
    return stage == any_stage ? stages_ - 1 : stage;
  }

  bool needs(int stage, const Output& output) const {
    if (output.kind != PortKind::sum) return home_of(output.value) == stage;
    const std::vector<std::int32_t>& own = sums_[static_cast<std::size_t>(stage)];
    return std::find(own.begin(), own.end(), output.number) != own.end();
  }

  Graph part_of(int stage) const {
    Graph graph;
    GraphPart part(graph_, graph);
    const auto index = static_cast<std::size_t>(stage);
    const auto for_each = [](const std::set<ValueId>& values, const auto& call) {
      std::int32_t number = 0;
      for (ValueId id : values) call(id, number++);
    };
    if (stage > 0) for_each(up_[index - 1], [&](ValueId id, auto i) { part.cut(id, PortKind::activation, i); });
    for_each(down_[index], [&](ValueId id, auto i) { part.cut(id, PortKind::gradient, i); });
    for_each(up_[index], [&](ValueId id, auto i) { part.add_port(id, PortKind::activation, i); });
    if (stage > 0) for_each(down_[index - 1], [&](ValueId id, auto i) { part.add_port(id, PortKind::gradient, i); });
    for (const Output& output : graph_.outputs())
      if (needs(stage, output)) part.add_output(output);
    for (const Assignment& assignment : graph_.assignments())
      if (home_of(assignment.value) == stage) part.assign(assignment);
    return graph;
  }

  const Graph& graph_;
  const std::vector<std::vector<std::int32_t>>& sums_;
  const int stages_;
  std::vector<std::set<ValueId>> up_, down_;
};

}  // namespace

std::vector<Graph> cut_stages(const Graph& micro_batch, const std::vector<std::vector<std::int32_t>>& sums) {
  return StageCutter(micro_batch, sums).cut();
}

}  // namespace pando
