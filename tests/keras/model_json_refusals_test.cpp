// SPDX-License-Identifier: Apache-2.0
// Models as JSON that are refused: what a file cannot hold, what is not a model, and what would take too much memory.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include "frontends/keras/files/memory_limit.h"
#include "frontends/keras/files/model_json.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

TEST(ModelJsonRefusals, AreForWhatNoFileCanHold) {
  const Tensor x = Input({4}, {.name = "x"});
  EXPECT_EQ(message([&] { Model(x, x + x).to_json(); }),
            "the call of 'tf.__operators__.add' does not belong to a layer, and a file cannot hold it; use a layer "
            "such as Add");
  struct OwnBody : LayerBody {
    std::string kind() const override { return "Own"; }
    std::vector<Value> call(LayerCall&, const std::vector<Value>& inputs) const override { return inputs; }
  };
  EXPECT_EQ(message([&] { Model(x, Layer(std::make_shared<OwnBody>(), "own")(x)).to_json(); }),
            "the layer 'own' (Own) cannot be saved: its class is not one of Keras's, and a file cannot hold its code; "
            "save the weights, and make it again");
  const layers::Dense dense(4, {.name = "d"});
  EXPECT_EQ(message([&] {
              Sequential({dense, dense}).to_json();
            }),
            "the layer 'd' is there twice, in a Sequential model or in two models, and a file would make two layers of "
            "it; use it in one functional model");
  const Tensor named = Input({4}, {.name = "d"});
  EXPECT_EQ(message([&] { Model(named, dense(named)).to_json(); }),
            "an input and a layer, or two inputs, are named 'd'; give them different names");
}

std::string functional(const std::string& layers, const std::string& outputs = R"([["d", 0, 0]])") {
  return R"({"class_name": "Functional", "config": {"name": "m", "layers": [{"class_name": "InputLayer", "name": "x", )"
         R"("config": {"batch_input_shape": [null, 4]}, "inbound_nodes": []}, )" +
         layers + R"(], "input_layers": [["x", 0, 0]], "output_layers": )" + outputs + "}}";
}

std::string dense(const std::string& name, const std::string& nodes, const std::string& units = "3") {
  return R"({"class_name": "Dense", "name": ")" + name + R"(", "config": {"units": )" + units +
         R"(}, "inbound_nodes": )" + nodes + "}";
}

TEST(ModelJsonRefusals, AreNotForALayerListedBeforeThoseThatItUses) {
  const Model model = model_from_json(
      functional(dense("d", R"([[["e", 0, 0, {}]]])") + ", " + dense("e", R"([["x", 0, 0]])"), R"(["d", 0, 0])"));
  EXPECT_EQ(model.count_params(), 15 + 12);
}

TEST(ModelJsonRefusals, NameThePlaceAndTheReason) {
  const auto refusal = [](const std::string& text) { return message([&] { model_from_json(text); }); };
  EXPECT_EQ(refusal("{"),
            "model_from_json: the text is not JSON: line 1, column 2: the name of a member, in quotation marks, is "
            "missing");
  EXPECT_EQ(refusal("[]"), "model_from_json: the text is a list but should be an object");
  EXPECT_EQ(refusal("{}"), "model_from_json: a layer has no 'class_name'");
  EXPECT_EQ(refusal(R"({"class_name": "Dense", "config": {"units": 3}})"),
            "model_from_json: it is a layer (Dense) but should be a model: Sequential or Functional");
  const auto layer = [&](const std::string& kind) {
    return refusal(R"({"class_name": "Sequential", "config": {"layers": [{"class_name": ")" + kind +
                   R"(", "config": {"name": "l"}}]}})");
  };
  EXPECT_EQ(layer("Dens"), "model_from_json: layer 'l': unknown layer class 'Dens'; did you mean 'Dense'?");
  EXPECT_EQ(
      layer("Lambda"),
      "model_from_json: layer 'l': Lambda is code, which a file cannot hold; use a layer of Keras's in its place");
  EXPECT_EQ(
      refusal(functional(dense("d", R"([[["y", 0, 0, {}]]])"))),
      "model_from_json: there is no output 0 of call 0 of a layer 'd': its layer is not in the file, or needs what "
      "is not there");
  EXPECT_EQ(
      refusal(functional(dense("d", R"([[["d", 0, 0, {}]]])"))),
      "model_from_json: there is no output 0 of call 0 of a layer 'd': its layer is not in the file, or needs what "
      "is not there");
  EXPECT_EQ(
      refusal(functional(dense("d", R"([[["x", 0]]])"))),
      "model_from_json: layer 'd': [\"x\", 0] is not an output of a layer: [name, number of the call, number of the "
      "output]");
  EXPECT_EQ(refusal(functional(dense("d", R"([[["x", 0, 0, {"mask": 1}]]])"))),
            "model_from_json: layer 'd': a call: unknown key 'mask'; known are: training");
  EXPECT_EQ(refusal(functional(dense("x", "[]"))),
            "model_from_json: two layers are named 'x'; the names of a model's layers must differ");
  EXPECT_EQ(
      refusal(functional(R"({"class_name": "Conv2D", "name": "d", "config": {"filters": 1, "kernel_size": 3}, )"
                         R"("inbound_nodes": [[["x", 0, 0, {}]]]})")),
      "model_from_json: layer 'd' (Conv2D) takes an input of 4 axes, the batch among them, but was called on (None, "
      "4); insert a Reshape");
}

TEST(ModelJsonRefusals, ComeBeforeAllMemoryIsTaken) {
  const std::string node = R"([[["x", 0, 0, {}]]])";
  EXPECT_EQ(
      message([&] {
        model_from_json(functional(R"({"class_name": "Embedding", "name": "d", "config": {"input_dim": 1000000000, )"
                                   R"("output_dim": 1000000000}, "inbound_nodes": )" +
                                   node + "}"));
      }),
      "model_from_json: layer 'd' (Embedding): a tensor of shape [1000000000, 1000000000] has more than 2^32 "
      "elements; make it smaller");
  const auto within = [&](std::uint64_t bytes) {
    const MemoryLimit limit(bytes);
    return read_model(Json::parse(functional(dense("d", node, "1000")), "it"), "it");
  };
  EXPECT_EQ(within(100'000).count_params(), 5000);
  EXPECT_EQ(message([&] { within(10'000); }),
            "it: layer 'd' (Dense): the model needs more than the 9.8 KiB of memory that there are; make it smaller");
}

// Each model calls the one inside it twice: the text grows by a line, the work doubles.
TEST(ModelJsonRefusals, ComeBeforeForever) {
  std::string model = functional(dense("d", R"([[["x", 0, 0, {}]]])", "4"));
  for (int depth = 0; depth < 25; ++depth) {
    model.pop_back();
    model = functional(model + R"(, "name": "d", "inbound_nodes": [[["x", 0, 0, {}]], [["d", 1, 0, {}]]]})",
                       R"([["d", 2, 0]])");
  }
  const MemoryLimit limit(1'000'000);
  const std::string text = message([&] { read_model(Json::parse(model, "it"), "it"); });
  EXPECT_TRUE(text.ends_with("the model needs more than the 976.6 KiB of memory that there are; make it smaller"))
      << text;
}

}  // namespace
