// SPDX-License-Identifier: Apache-2.0
// Drives the op table: types, values, gradients, constants, on every instruction set and on 1, 2 and 3 tiles.
#include <pando/autodiff/gradients.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/op_definition.h"
#include "tests/message.h"
#include "tests/ops/running.h"

namespace pando::test {
namespace {

constexpr std::size_t fewest_cases = 5;
// Of an input; the places are spread over all of it.
constexpr std::int64_t most_differences = 40;
constexpr double gradient_absolute = 1e-5, gradient_relative = 1e-3;

class OpTable : public testing::TestWithParam<Entry> {
 protected:
  // Calls check(trial) for each case with each type under test.
  void for_trials(const std::vector<DType>& dtypes, const std::function<void(const Trial&)>& check) {
    const Entry entry = GetParam();
    for (DType dtype : dtypes)
      for (std::size_t number = 0; number < entry.cases.size(); ++number) {
        const Trial trial = make_trial(entry, number, dtype);
        SCOPED_TRACE(label(trial, number));
        check(trial);
      }
  }
};

void expect_results(const Tensors& got, const Trial& trial) {
  ASSERT_EQ(got.size(), trial.expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(difference(got[i], trial.expected[i], trial.subject->slack), "") << "output " << i;
}

TEST_P(OpTable, InfersTypesAndUsesTheOp) {
  for_trials(GetParam().dtypes, [](const Trial& trial) {
    Graph graph;
    const std::vector<Value> outputs = build(graph, trial);
    ASSERT_EQ(outputs.size(), trial.expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_EQ(to_string(outputs[i].type()), to_string(Type{trial.expected[i].dtype, trial.expected[i].shape}));
    EXPECT_TRUE(
        std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) { return node.op == trial.op; }));
  });
}

TEST_P(OpTable, ComputesWhatTheReferenceComputesOnAnyNumberOfTiles) {
  for_trials(GetParam().dtypes, [](const Trial& trial) {
    for (const std::string& set : tested_instruction_sets()) {
      SCOPED_TRACE(set);
      // OpTableItself.IsComputedButForWhatTheBackendRefuses says what that leaves out.
      if (!why_unsupported(trial, device(set, 1)).empty()) continue;
      const Tensors on_one_tile = run(trial, device(set, 1));
      expect_results(on_one_tile, trial);
      for (int tiles = 2; tiles <= most_tiles; ++tiles)
        EXPECT_EQ(bit_difference(run(trial, device(set, tiles)), on_one_tile), "") << tiles << " tiles";
    }
  });
}

// What the compiler folds is what a step would have computed: to the bit on the host, which folds.
TEST_P(OpTable, FoldsConstantsToTheSameValues) {
  const Device& folding = device(tested_instruction_sets().back(), 2);
  for_trials({GetParam().dtypes.front()}, [&](const Trial& trial) {
    if (!why_unsupported(trial, folding).empty()) return;
    const Tensors folded = run(trial, folding, true);
    if (computes_as_the_host(folding)) EXPECT_EQ(bit_difference(folded, run(trial, folding)), "");
    else expect_results(folded, trial);
  });
}

// A scalar that depends on every element of the first output in its own way.
struct Loss {
  Graph graph;
  Value value;
  std::vector<Value> inputs;
};

void build_loss(Loss& loss, const Trial& trial) {
  const Value y = ops::cast(build(loss.graph, trial).front(), DType::float64);
  for (std::size_t i = 0; i < trial.inputs.size(); ++i)
    loss.inputs.push_back(loss.graph.value({static_cast<std::int32_t>(i), 0}));
  Generator generator("loss", 1);
  const Tensor factors = draw(domain(-1, 1), DType::float64, y.shape(), generator);
  loss.value = ops::reduce_sum(y * ops::constant(loss.graph, to_array(factors)));
}

bool has_gradient(const Trial& trial, std::size_t input) {
  return is_floating(trial.inputs[input].dtype) && trial.subject->inputs[input].differentiable;
}

// By name of the input.
std::map<std::string, Tensor> run_gradients(const Trial& trial, const Device& device) {
  Loss loss;
  build_loss(loss, trial);
  std::vector<Value> wanted;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < loss.inputs.size(); ++i) {
    if (!has_gradient(trial, i)) continue;
    wanted.push_back(loss.inputs[i]);
    names.push_back(input_name(i));
  }
  const std::vector<Value> found = gradients(loss.value, wanted);
  for (std::size_t i = 0; i < found.size(); ++i) loss.graph.add_output(names[i], found[i]);
  Program program(loss.graph, device, Variables());
  std::map<std::string, Tensor> results;
  for (const auto& [name, array] : program.step(feeds_of(trial))) results[name] = to_tensor(array);
  return results;
}

template <class T>
double central_difference(Program& program, Feeds& feeds, const std::string& input, std::int64_t place, double step) {
  T& element = feeds[input].mutable_data<T>()[place];
  const T original = element;
  const auto loss_at = [&](T value) {
    element = value;
    return program.step(feeds).at("loss").item<double>();
  };
  const T above = static_cast<T>(original + step), below = static_cast<T>(original - step);
  const double slope = (loss_at(above) - loss_at(below)) / (static_cast<double>(above) - static_cast<double>(below));
  element = original;
  return slope;
}

void expect_gradients(const Trial& trial, const Device& device) {
  const auto found = run_gradients(trial, device);
  Loss loss;
  build_loss(loss, trial);
  loss.graph.add_output("loss", loss.value);
  Program program(loss.graph, device, Variables());
  Feeds feeds = feeds_of(trial);
  for (const auto& [input, gradient] : found) {
    const std::int64_t stride = std::max<std::int64_t>(1, gradient.elements() / most_differences);
    for (std::int64_t place = 0; place < gradient.elements(); place += stride) {
      const double step = trial.subject->difference_step;
      const double slope = gradient.dtype == DType::float32
                               ? central_difference<float>(program, feeds, input, place, step)
                               : central_difference<double>(program, feeds, input, place, step);
      ASSERT_NEAR(gradient[place], slope, gradient_absolute + gradient_relative * std::abs(slope))
          << "gradient of " << input << " at " << place << " of " << to_string(gradient.shape);
    }
  }
}

TEST_P(OpTable, HasTheGradientsThatDifferencesShow) {
  if (find_op(GetParam().op).gradient == nullptr) return;
  for_trials({DType::float64}, [](const Trial& trial) {
    if (!trial.subject->has_gradient) return;
    for (const std::string& set : tested_instruction_sets()) {
      SCOPED_TRACE(set);
      expect_gradients(trial, device(set, 1));
      const auto on_one_tile = run_gradients(trial, device(set, 1)),
                 on_three = run_gradients(trial, device(set, most_tiles));
      for (const auto& [input, gradient] : on_one_tile)
        EXPECT_EQ(bit_difference({on_three.at(input)}, {gradient}), "") << "gradient of " << input << " on 3 tiles";
    }
  });
}

std::string name_of(const testing::TestParamInfo<Entry>& info) { return std::string(info.param.op); }
INSTANTIATE_TEST_SUITE_P(All, OpTable, testing::ValuesIn(op_table()), name_of);
INSTANTIATE_TEST_SUITE_P(Composed, OpTable, testing::ValuesIn(composed_table()), name_of);

TEST(OpTableItself, HasAnEntryForEveryOp) {
  std::set<std::string_view> listed;
  for (const Entry& entry : op_table()) EXPECT_TRUE(listed.insert(entry.op).second) << entry.op << " has two entries";
  // Sources compute nothing; source_test.cpp has them. Nor do views; tests/compiler/products_in_place_test.cpp has
  // them.
  for (const OpDefinition* op : all_ops()) {
    EXPECT_TRUE(op->role != Role::compute || op->is_strided || listed.contains(op->name))
        << "no entry for " << op->name;
  }
}

bool has_axis_of(const Case& c, std::int64_t size) {
  return std::any_of(c.inputs.begin(), c.inputs.end(), [&](const InputSpec& input) {
    return std::find(input.shape.begin(), input.shape.end(), size) != input.shape.end();
  });
}

// Random numbers are drawn for a counter alone: the sizes are in an attribute.
bool has_shape_of(const Case& c, std::int64_t size) {
  const Attribute* shape = c.attributes.find("shape");
  if (has_axis_of(c, size)) return true;
  if (shape == nullptr) return false;
  const auto& sizes = std::get<Integers>(*shape);
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

TEST(OpTableItself, CoversSmallAndEmptyShapes) {
  for (const Entry& entry : op_table()) {
    EXPECT_GE(entry.cases.size(), fewest_cases) << entry.op;
    for (std::int64_t size : {0, 1})
      EXPECT_TRUE(
          std::any_of(entry.cases.begin(), entry.cases.end(), [&](const Case& c) { return has_shape_of(c, size); }))
          << entry.op << " is not tested with an axis of size " << size;
  }
}

// A GPU refuses the gradients of convolutions with an epilogue, which the compiler does not make for it.
TEST(OpTableItself, IsComputedButForWhatTheBackendRefuses) {
  const Device& used = device(tested_instruction_sets().front(), 1);
  std::map<std::string, int> refused;
  for (const Entry& entry : op_table())
    for (std::size_t number = 0; number < entry.cases.size(); ++number) {
      Trial trial = {&find_op(entry.op), &entry.cases[number], {}, {}};
      for (const InputSpec& input : entry.cases[number].inputs)
        trial.inputs.push_back(filled(input.dtype.value_or(entry.dtypes.front()), input.shape));
      const std::string reason = why_unsupported(trial, used);
      if (reason.empty()) continue;
      ++refused[std::string(entry.op)];
      EXPECT_EQ(message([&] { run(trial, used); }), "the backend '" + used.backend() + "' has no kernel for " +
                                                        std::string(entry.op) + ": " + reason + "; use another backend")
          << label(trial, number);
    }
  std::map<std::string, int> expected;
  if (used.backend() == "cuda") expected = {{"conv2d_input_gradient", 15}, {"conv2d_max_pool_input_gradient", 9}};
  EXPECT_EQ(refused, expected);
}

}  // namespace
}  // namespace pando::test
