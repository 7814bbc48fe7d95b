// SPDX-License-Identifier: Apache-2.0
// state_dict and load_state_dict: PyTorch's names and shapes, and what is said when they do not fit.
#include <cstdio>

#include "tests/message.h"
#include "tests/torch/reference.h"

using namespace pando;

namespace {

struct Model : nn::Module {
  Model() : body(nn::Conv2d(2, 4, {.kernel_size = {3, 1}}), nn::BatchNorm2d(4)), head(4, 3, {.bias = false}) {
    register_modules({{"body", body}, {"head", head}});
    scale = register_parameter("scale", ones({3}));
    register_buffer("mean", zeros({2}));
  }

  nn::Sequential body;
  nn::Linear head;
  nn::Parameter scale = nn::Parameter(ones({1}));
};

std::map<std::string, std::string> shapes_of(const nn::Module& module) {
  std::map<std::string, std::string> shapes;
  for (const auto& [name, value] : module.state_dict()) shapes[name] = to_string(value.shape());
  return shapes;
}

void expect_equal(const nn::StateDict& a, const nn::StateDict& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) EXPECT_TRUE(array_equal(value, b.at(name))) << name;
}

TEST(StateDict, HasTheNamesAndShapesOfPyTorch) {
  EXPECT_EQ(shapes_of(Model()), (std::map<std::string, std::string>{{"scale", "[3]"},
                                                                    {"mean", "[2]"},
                                                                    {"body.0.weight", "[4, 2, 3, 1]"},
                                                                    {"body.0.bias", "[4]"},
                                                                    {"body.1.weight", "[4]"},
                                                                    {"body.1.bias", "[4]"},
                                                                    {"body.1.running_mean", "[4]"},
                                                                    {"body.1.running_var", "[4]"},
                                                                    {"head.weight", "[3, 4]"}}));
  EXPECT_EQ(shapes_of(nn::ConvTranspose2d(4, 6, {.kernel_size = {3, 2}, .groups = 2})),
            (std::map<std::string, std::string>{{"weight", "[4, 3, 3, 2]"}, {"bias", "[6]"}}));
  EXPECT_EQ(shapes_of(nn::Embedding(6, 3)), (std::map<std::string, std::string>{{"weight", "[6, 3]"}}));
  EXPECT_EQ(shapes_of(nn::LayerNorm({4, 6})),
            (std::map<std::string, std::string>{{"weight", "[4, 6]"}, {"bias", "[4, 6]"}}));
}

TEST(StateDict, OfLossesHasTheirWeightsAsInPyTorch) {
  EXPECT_EQ(shapes_of(nn::CrossEntropyLoss()), (std::map<std::string, std::string>{}));
  EXPECT_EQ(shapes_of(nn::CrossEntropyLoss({.weight = ones({3})})),
            (std::map<std::string, std::string>{{"weight", "[3]"}}));
  EXPECT_EQ(shapes_of(nn::BCEWithLogitsLoss({.weight = ones({3}), .pos_weight = ones({1})})),
            (std::map<std::string, std::string>{{"weight", "[3]"}, {"pos_weight", "[1]"}}));
}

TEST(StateDict, OwnParametersComeFirstInOrderOfRegistration) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : Model().named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"scale", "body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias",
                                             "head.weight"}));
  names.clear();
  for (const auto& [name, buffer] : Model().named_buffers()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"mean", "body.1.running_mean", "body.1.running_var"}));
}

TEST(StateDict, OfAnotherModelIsLoaded) {
  const Model from, to;
  set_first_values(from);
  nn::StateDict values = from.state_dict();
  // PyTorch's files have it, and nothing depends on it.
  values["body.1.num_batches_tracked"] = Array::scalar<std::int64_t>(7);
  to.load_state_dict(values);
  expect_equal(to.state_dict(), from.state_dict());
  EXPECT_TRUE(array_equal(to.body[0].module().named_parameters()[0].second.value(), hashed(3, {4, 2, 3, 1}, 0.5)));
}

TEST(StateDict, IsACopy) {
  const Model model;
  const nn::StateDict before = model.state_dict();
  set_first_values(model);
  EXPECT_FALSE(array_equal(before.at("head.weight"), model.head.parameters()[0].value()));
  nn::StateDict after = model.state_dict();
  after["scale"].mutable_data<float>()[0] = 100;
  EXPECT_NE(model.scale.value().data<float>()[0], 100);
}

TEST(StateDict, ThatDoesNotFitIsRefusedAndChangesNothing) {
  const Model model;
  const nn::StateDict before = model.state_dict();
  nn::StateDict values = before;
  values["scale"] = full({3}, 7);
  values["head.weight"] = ones({4, 3});
  values.erase("body.0.bias");
  values.erase("mean");
  values["head.bias"] = ones({3});
  values["tail.bias"] = ones({3});
  EXPECT_EQ(message([&] { model.load_state_dict(values); }),
            "load_state_dict for Model: missing keys: \"mean\", \"body.0.bias\"; unexpected keys: \"head.bias\", "
            "\"tail.bias\"; size mismatch for head.weight: it is [3, 4] but the state_dict has [4, 3]; nothing was "
            "loaded");
  expect_equal(model.state_dict(), before);
  EXPECT_EQ(message([&] { model.load_state_dict(values, {.strict = false}); }),
            "load_state_dict for Model: size mismatch for head.weight: it is [3, 4] but the state_dict has [4, 3]; "
            "nothing was loaded");
  expect_equal(model.state_dict(), before);
  EXPECT_EQ(message([&] { model.load_state_dict({{"scale", ones({3})}}); }).find("missing keys: \"mean\", "), 27u);
}

struct Doubled : nn::Module {
  Doubled() : linear(2, 2) { register_module("linear", linear); }
  Tensor forward(Tensor x) { return linear(x) * 2.0; }
  nn::Linear linear;
};

TEST(StateDict, OfAFileThatDoesNotFitAModelIsRefusedByItsClass) {
  const std::string path = testing::TempDir() + "torch_state_test.npz";
  data::write_npz(path, {{"model/linear.weight", ones({2, 2})}});
  Doubled module;
  EXPECT_EQ(message([&] { poptorch::inferenceModel(module).load(path); }),
            "load_state_dict for Doubled: missing keys: \"linear.bias\"; nothing was loaded");
  std::remove(path.c_str());
}

TEST(StateDict, IsLoadedInPartIfItNeedNotBeStrict) {
  const Model model;
  const nn::StateDict before = model.state_dict();
  model.load_state_dict({{"scale", full({3}, 7)}, {"tail.bias", ones({3})}}, {.strict = false});
  nn::StateDict expected = before;
  expected["scale"] = full({3}, 7);
  expect_equal(model.state_dict(), expected);
}

TEST(Parameter, TakesValuesOfItsShapeInAnyType) {
  const nn::Linear linear(2, 3);
  const nn::Parameter weight = linear.parameters()[0];
  EXPECT_EQ(message([&] {
              weight.set_value(ones({2, 3}));
            }),
            "the parameter has shape [3, 2] but the value has shape [2, 3]");
  weight.set_value(Array::of<double>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_TRUE(array_equal(weight.value(), Array::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})));
  EXPECT_EQ(weight.value().dtype(), DType::float32);
  EXPECT_EQ(message([&] { (void)static_cast<Tensor>(weight); }),
            "a parameter is a tensor only while forward() is being traced; use value() to look at its numbers");
}

}  // namespace
