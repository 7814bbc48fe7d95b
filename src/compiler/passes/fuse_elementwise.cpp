// SPDX-License-Identifier: Apache-2.0
// Finds clusters of elementwise nodes of one shape of which only the last one, the root, is used from outside. Each
// becomes a small program that runs element by element, if possible on the result of a matmul, a convolution or the
// gradient of its images before that goes to memory.
#include <algorithm>

#include "compiler/passes/pass.h"
#include "graph/elementwise_program.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

// Programs read a mask or a number straight from memory, but storage types need a separate cast.
bool is_fusible(const Node& node) {
  return node.op->elementwise && node.op->id != Op::fused && node.outputs.size() == 1 && node.inputs.size() <= 3;
}

// cluster[i] is the node whose fused kernel computes node i, or -1. Users come after their producers, so going
// backwards a node joins the cluster that holds all its users: nothing then leads out of a cluster but its root.
std::vector<std::int32_t> find_clusters(const Graph& graph, std::size_t most_instructions) {
  const auto count = graph.nodes().size();
  constexpr std::int32_t unused = -1, mixed = -2;
  std::vector<std::int32_t> user_cluster(count, unused), cluster(count, -1);
  std::vector<std::size_t> size(count, 0);
  for (const Output& output : graph.outputs()) user_cluster[static_cast<std::size_t>(output.value.node)] = mixed;
  for (const Assignment& assignment : graph.assignments())
    user_cluster[static_cast<std::size_t>(assignment.value.node)] = mixed;
  for (std::size_t i = count; i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (is_fusible(node)) {
      const std::int32_t root = user_cluster[i];
      const bool joins = root >= 0 &&
                         node.outputs[0].shape == graph.nodes()[static_cast<std::size_t>(root)].outputs[0].shape &&
                         size[static_cast<std::size_t>(root)] < most_instructions;
      cluster[i] = joins ? root : static_cast<std::int32_t>(i);
      ++size[static_cast<std::size_t>(cluster[i])];
    }
    for (ValueId input : node.inputs) {
      std::int32_t& users = user_cluster[static_cast<std::size_t>(input.node)];
      if (users == unused) users = cluster[i] >= 0 ? cluster[i] : mixed;
      else if (users != cluster[i]) users = mixed;
    }
  }
  return cluster;
}

struct Fused {
  ElementwiseProgram program;
  std::vector<ValueId> operands;  // values of the old graph
};

Fused build_program(const Graph& graph, std::int32_t root, const std::vector<std::int32_t>& cluster) {
  std::vector<std::int32_t> members;
  Fused fused;
  for (std::int32_t i = 0; i <= root; ++i)
    if (cluster[static_cast<std::size_t>(i)] == root) members.push_back(i);
  const auto is_member = [&](ValueId id) { return cluster[static_cast<std::size_t>(id.node)] == root; };
  for (std::int32_t member : members)
    for (ValueId input : graph.nodes()[static_cast<std::size_t>(member)].inputs)
      if (!is_member(input) && std::find(fused.operands.begin(), fused.operands.end(), input) == fused.operands.end())
        fused.operands.push_back(input);
  for (ValueId operand : fused.operands) fused.program.operands.push_back(graph.type(operand).dtype);

  const auto number_of = [&](ValueId id) {
    const auto found = is_member(id)
                           ? std::find(members.begin(), members.end(), id.node) - members.begin() +
                                 static_cast<std::ptrdiff_t>(fused.operands.size())
                           : std::find(fused.operands.begin(), fused.operands.end(), id) - fused.operands.begin();
    return static_cast<std::int32_t>(found);
  };
  for (std::int32_t member : members) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(member)];
    ElementwiseProgram::Instruction instruction{.op = node.op, .result = node.outputs[0].dtype};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) instruction.arguments[i] = number_of(node.inputs[i]);
    for (std::size_t i = 0; i < node.op->parameters.size(); ++i)
      instruction.parameters[i] = node.attributes.number(node.op->parameters[i]);
    fused.program.instructions.push_back(instruction);
  }
  fused.program.results = {static_cast<std::int32_t>(fused.program.operands.size() + members.size() - 1)};
  return fused;
}

// Whether a node between the two uses the first one, which could then not be moved to the second.
bool is_used_between(const Graph& graph, std::int32_t producer, std::int32_t root) {
  for (std::int32_t i = producer + 1; i < root; ++i)
    for (ValueId input : graph.nodes()[static_cast<std::size_t>(i)].inputs)
      if (input.node == producer && input.output > 0) return true;
  return false;
}

bool can_have_epilogue(const Node& node, const Capabilities& capabilities) {
  if (node.attributes.find("epilogue") == nullptr || node.attributes.program("epilogue") != nullptr) return false;
  const bool is_gradient =
      node.op->id == Op::conv2d_input_gradient || node.op->id == Op::conv2d_max_pool_input_gradient;
  return is_gradient ? capabilities.gradient_epilogues : capabilities.epilogues;
}

// The operand that a matmul, a convolution or a gradient of one computes for this program alone, so that the program
// can be its epilogue.
int find_producer(const Graph& graph, std::int32_t root, const Fused& fused, const std::vector<std::vector<int>>& uses,
                  const Capabilities& capabilities) {
  const Type& result = graph.nodes()[static_cast<std::size_t>(root)].outputs[0];
  for (std::size_t i = 0; i < fused.operands.size(); ++i) {
    const ValueId operand = fused.operands[i];
    const Node& node = graph.node(operand);
    if (operand.output != 0 || !can_have_epilogue(node, capabilities)) continue;
    if (uses[static_cast<std::size_t>(operand.node)][0] == 1 && graph.type(operand) == result &&
        !is_used_between(graph, operand.node, root))
      return static_cast<int>(i);
  }
  return -1;
}

// Makes operand `first` number 0, where an epilogue expects what its producer computed.
void move_to_front(Fused& fused, std::size_t first) {
  const auto renumber = [&](std::int32_t value) {
    const auto number = static_cast<std::size_t>(value);
    if (value < 0 || number > first) return value;
    return number == first ? 0 : value + 1;
  };
  std::rotate(fused.operands.begin(), fused.operands.begin() + static_cast<std::ptrdiff_t>(first),
              fused.operands.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  auto& dtypes = fused.program.operands;
  std::rotate(dtypes.begin(), dtypes.begin() + static_cast<std::ptrdiff_t>(first),
              dtypes.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  for (auto& instruction : fused.program.instructions)
    for (std::int32_t& argument : instruction.arguments) argument = renumber(argument);
}

// The node with its epilogue takes the place of the program's root: by then every operand is there.
void append_with_epilogue(Rewriter& rewriter, std::int32_t root, Fused fused, std::size_t producer) {
  const std::int32_t old = fused.operands[producer].node;
  move_to_front(fused, producer);
  Node node = rewriter.from().nodes()[static_cast<std::size_t>(old)];
  node.inputs.insert(node.inputs.end(), fused.operands.begin() + 1, fused.operands.end());
  for (ValueId& input : node.inputs) input = rewriter[input];
  node.attributes.set("epilogue", std::make_shared<const ElementwiseProgram>(std::move(fused.program)));
  const auto outputs = static_cast<std::int32_t>(node.outputs.size());
  const std::int32_t added = GraphEditor::append(rewriter.to(), std::move(node));
  rewriter.replace({root, 0}, {added, 0});
  for (std::int32_t k = 1; k < outputs; ++k) rewriter.replace({old, k}, {added, k});
}

void append_fused(Rewriter& rewriter, std::int32_t root, Fused fused) {
  const Node& old = rewriter.from().nodes()[static_cast<std::size_t>(root)];
  for (ValueId& operand : fused.operands) operand = rewriter[operand];
  Node node{&definitions::fused, std::move(fused.operands), {}, old.outputs, old.name, old.stage, old.layer};
  node.attributes.set("program", std::make_shared<const ElementwiseProgram>(std::move(fused.program)));
  rewriter.replace({root, 0}, {GraphEditor::append(rewriter.to(), std::move(node)), 0});
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassContext& context) {
  const std::vector<std::int32_t> cluster = find_clusters(graph, context.capabilities.most_instructions);
  const auto uses = count_uses(graph);
  const auto count = static_cast<std::int32_t>(graph.nodes().size());
  std::vector<Fused> programs(graph.nodes().size());
  std::vector<int> producer(graph.nodes().size(), -1);
  std::vector<bool> postponed(graph.nodes().size(), false);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (cluster[index] != i) continue;
    programs[index] = build_program(graph, i, cluster);
    producer[index] = find_producer(graph, i, programs[index], uses, context.capabilities);
    if (producer[index] >= 0)
      postponed[static_cast<std::size_t>(programs[index].operands[static_cast<std::size_t>(producer[index])].node)] =
          true;
  }

  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (cluster[index] < 0) {
      if (!postponed[index]) rewriter.keep(i);
    } else if (cluster[index] == i) {
      if (producer[index] >= 0)
        append_with_epilogue(rewriter, i, std::move(programs[index]), static_cast<std::size_t>(producer[index]));
      else if (programs[index].program.instructions.size() == 1) rewriter.keep(i);
      else append_fused(rewriter, i, std::move(programs[index]));
    }
  }
  return rewriter.finish();
}

}  // namespace pando
