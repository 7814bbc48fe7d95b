// SPDX-License-Identifier: Apache-2.0
// Three updates in a row of parameters and states that live in Variables, against plain loops.
#include <pando/ops/ops.h>
#include <pando/program/program.h>

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ops/running.h"
#include "tests/ops/update_rules.h"

namespace pando::test {
namespace {

constexpr int updates = 3;

// A parameter, its states and the gradients that it gets.
struct Parameter {
  std::string name;
  Shape shape;
};
const std::vector<Parameter> parameters = {{"weight", {5, 7}}, {"bias", {7}}, {"gain", {}}};

std::string state_name(const Parameter& parameter, int state) {
  return parameter.name + "/state" + std::to_string(state);
}
// The rate changes, as with a schedule: that is where the kinds of momentum differ.
double rate_of(int update) { return 0.1 / (update + 1); }

Tensor initial(const std::string& name, DType dtype, const Shape& shape) {
  Generator generator(name, 1);
  return draw(domain(-1, 1), dtype, shape, generator);
}

Tensor gradient_of(const Parameter& parameter, DType dtype, int update) {
  Generator generator(parameter.name, static_cast<std::uint64_t>(update) + 2);
  return draw(domain(-1, 1), dtype, parameter.shape, generator);
}

// The rate and the gradients are fed; the number of updates is counted by the graph.
Graph build_graph(const UpdateRule& rule, DType dtype) {
  Graph graph;
  const Value rate = ops::input(graph, "rate", dtype, {});
  Value step;
  if (rule.takes_step) {
    step = ops::variable(graph, "step", DType::int32, {});
    graph.assign(step, step + 1.0);
  }
  for (const Parameter& parameter : parameters) {
    const Value value = ops::variable(graph, parameter.name, dtype, parameter.shape);
    const Value gradient = ops::input(graph, parameter.name + "/gradient", dtype, parameter.shape);
    std::vector<Value> states;
    for (int state = 0; state < rule.states; ++state)
      states.push_back(ops::variable(graph, state_name(parameter, state), dtype, parameter.shape));
    const std::vector<Value> results = rule.build(rate, step, value, gradient, states);
    graph.assign(value, results[0]);
    for (std::size_t i = 0; i < states.size(); ++i) graph.assign(states[i], results[i + 1]);
  }
  return graph;
}

std::map<std::string, Array> feeds_of(DType dtype, int update) {
  std::map<std::string, Array> feeds = {{"rate", Array::scalar(rate_of(update)).astype(dtype)}};
  for (const Parameter& parameter : parameters)
    feeds[parameter.name + "/gradient"] = to_array(gradient_of(parameter, dtype, update));
  return feeds;
}

// What the parameter and its states have to be after all updates.
Tensors expected_of(const UpdateRule& rule, const Parameter& parameter, DType dtype) {
  Tensors group = {initial(parameter.name, dtype, parameter.shape), {}};
  for (int state = 0; state < rule.states; ++state) group.push_back(filled(dtype, parameter.shape));
  for (int update = 0; update < updates; ++update) {
    group[1] = gradient_of(parameter, dtype, update);
    Tensors next = rule.reference(rate_of(update), update, group);
    group[0] = next[0];
    std::copy(next.begin() + 1, next.end(), group.begin() + 2);
  }
  group.erase(group.begin() + 1);
  return group;
}

void expect_updates(const UpdateRule& rule, DType dtype, const Device& on) {
  const Graph graph = build_graph(rule, dtype);
  Variables variables;
  for (const Parameter& parameter : parameters)
    variables.set(parameter.name, to_array(initial(parameter.name, dtype, parameter.shape)));
  Program program(graph, on, variables);
  // In place: nothing is kept but what is fed and the variables themselves.
  EXPECT_EQ(program.arena_bytes(), 0u) << program.plan_text();
  for (int update = 0; update < updates; ++update) program.step(feeds_of(dtype, update));
  for (const Parameter& parameter : parameters) {
    const Tensors expected = expected_of(rule, parameter, dtype);
    EXPECT_EQ(difference(to_tensor(variables.get(parameter.name)), expected[0], 10), "") << parameter.name;
    for (int state = 0; state < rule.states; ++state)
      EXPECT_EQ(difference(to_tensor(variables.get(state_name(parameter, state))),
                           expected[static_cast<std::size_t>(state) + 1], 10),
                "")
          << state_name(parameter, state);
  }
}

TEST(Updates, ChangeVariablesAsPlainLoopsDo) {
  std::size_t number = 0;
  for (const UpdateRule& rule : update_rules())
    for (DType dtype : {DType::float32, DType::float64})
      for (const std::string& set : available_instruction_sets()) {
        SCOPED_TRACE(std::string(rule.op->name) + " rule " + std::to_string(number++) + " " + std::string(name(dtype)) +
                     " " + set);
        expect_updates(rule, dtype, device(set, 2));
      }
}

// One node for all parameters of a rule: a superstep of one kernel, however many layers there are.
TEST(Updates, OfManyParametersAreOneKernel) {
  Graph graph = build_graph(update_rules().front(), DType::float32);
  int kernels = 0;
  Program program(graph, device("portable", 2), Variables());
  const std::string text = program.plan_text();
  for (std::size_t at = text.find("sgd_update"); at != std::string::npos; at = text.find("sgd_update", at + 1))
    ++kernels;
  EXPECT_EQ(kernels, 1) << text;
}

}  // namespace
}  // namespace pando::test
