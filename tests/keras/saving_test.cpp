// SPDX-License-Identifier: Apache-2.0
// save() and load_model(), save_weights() and load_weights(): the same model, all of it or an Error and nothing.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <algorithm>
#include <cmath>

#include "data/formats/safetensors.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

Array waves(const Shape& shape) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  return array;
}

void expect_equal(const Array& a, const Array& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (std::int64_t i = 0; i < a.elements(); ++i) EXPECT_EQ(a.data<float>()[i], b.data<float>()[i]) << i;
}

Sequential small_model(std::int64_t units = 3) {
  return Sequential({layers::Dense(5, {.activation = "relu", .input_shape = Shape{4}, .name = "hidden"}),
                     layers::BatchNormalization({.name = "norm"}), layers::Dense(units, {.name = "scores"})},
                    {.name = "small"});
}

class Saving : public testing::Test {
 protected:
  std::vector<std::string> names_in(const std::string& path) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
};

TEST_F(Saving, GivesBackATrainedModel) {
  Sequential model = small_model();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Array x = waves({16, 4}), y = waves({16, 3});
  for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
  model.save(path);
  EXPECT_EQ(names_in(path), (std::vector<std::string>{"model.json", "weights.safetensors"}));
  Model back = load_model(path);
  EXPECT_EQ(back.to_json(), model.to_json());
  expect_equal(back.predict(x), model.predict(x));
  // What compile() was given is not part of it.
  EXPECT_EQ(message([&] { back.train_on_batch(x, y); }), message([&] { small_model().train_on_batch(x, y); }));
  back.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_EQ(back.train_on_batch(x, y)["loss"], model.train_on_batch(x, y)["loss"]);
}

TEST_F(Saving, NamesWeightsByLayer) {
  small_model().save(path);
  std::vector<std::string> names;
  for (const auto& [name, array] : data::read_safetensors(path + "/weights.safetensors").tensors) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"hidden/bias", "hidden/kernel", "norm/beta", "norm/gamma", "norm/moving_mean",
                                      "norm/moving_variance", "scores/bias", "scores/kernel"}));
}

TEST_F(Saving, ReplacesTheModelThatIsThere) {
  small_model(3).save(path);
  Sequential other = small_model(2);
  other.save(path + "/");
  EXPECT_EQ(load_model(path).count_params(), other.count_params());
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model"});
}

TEST_F(Saving, LeavesTheOldModelWhenItFails) {
  Sequential model = small_model();
  model.save(path);
  const Tensor x = Input({4});
  EXPECT_NE(message([&] { Model(x, x * 2.0).save(path); }), "(nothing was thrown)");
  expect_equal(load_model(path).get_weight("scores/kernel"), model.get_weight("scores/kernel"));
  folder.write("model/notes.txt", "mine");
  EXPECT_EQ(message([&] { small_model().save(path); }),
            path + ": holds 'notes.txt', which would be lost; give the name of another folder");
  expect_equal(load_model(path).get_weight("scores/kernel"), model.get_weight("scores/kernel"));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"model"});
}

TEST_F(Saving, RefusesAModelThatIsNotBuiltAndKeepsWhatIsThere) {
  small_model().save(path);
  const std::string before = load_model(path).to_json();
  const Sequential open({layers::Dense(3, {.name = "late"})}, {.name = "open"});
  EXPECT_EQ(message([&] { open.save(path); }),
            "save: the model 'open' is not built and has no weights yet; begin it with an Input, give its first layer "
            "an input_shape, or fit it first");
  EXPECT_EQ(load_model(path).to_json(), before);
  // Its layers alone are text.
  EXPECT_FALSE(model_from_json(open.to_json()).built());
}

TEST_F(Saving, MakesNoFolderWithTheNameOfAnotherFormat) {
  const std::string name = folder.path() + "/m.onnx";
  const std::string expected =
      "save: '" + name +
      "' would be a folder and not a .onnx file: Pando saves models as folders, with the layers "
      "in model.json and the weights in weights.safetensors; give a name without '.onnx', or "
      "save the weights alone with save_weights(), as .safetensors or .npz";
  EXPECT_EQ(message([&] { small_model().save(name); }), expected);
  EXPECT_EQ(message([&] { probe_save(name); }), expected);
  EXPECT_TRUE(names_in(folder.path()).empty());
  EXPECT_EQ(message([&] { load_model(folder.write("m.keras", "PK")); }),
            "load_model: '" + folder.path() +
                "/m.keras' is a file, but Pando reads models from folders that save() has "
                "written; load_weights() reads .safetensors and .npz files");
}

TEST_F(Saving, NamesTheFileThatIsWrong) {
  const std::string model = path + "/model.json", weights = path + "/weights.safetensors";
  EXPECT_EQ(message([&] { load_model(path); }),
            model + ": cannot be read: No such file or directory; check its name and permissions");
  small_model().save(path);
  folder.write("model/weights.safetensors", "{}");
  EXPECT_EQ(
      message([&] { load_model(path); }),
      weights + ": is not a safetensors file: it has only 2 bytes; save it again with safetensors.numpy.save_file");
  small_model(2).save_weights(weights);
  EXPECT_EQ(message([&] { load_model(path); }),
            "load_weights: 'scores/bias' has shape [2] in " + weights + " but [3] in the model 'small'");
  folder.write("model/model.json", "{\"class_name\": ");
  EXPECT_EQ(message([&] { load_model(path); }),
            model + " is not JSON: line 1, column 16: the text ends where a value should be");
}

TEST_F(Saving, WeightsAreTheSameInBothKindsOfFiles) {
  Sequential model = small_model();
  for (const char* name : {"/weights.npz", "/weights.safetensors"}) {
    model.save_weights(folder.path() + name);
    Sequential other = small_model();
    other.load_weights(folder.path() + name);
    expect_equal(other.predict(waves({3, 4})), model.predict(waves({3, 4})));
  }
}

TEST_F(Saving, LoadsAllWeightsOrNone) {
  const std::string weights = folder.path() + "/w.safetensors";
  data::write_safetensors(weights, {.tensors = {{"hidden/kernel", waves({4, 5})}}, .metadata = {}});
  Sequential model = small_model();
  const Array before = model.get_weight("hidden/kernel");
  EXPECT_EQ(message([&] { model.load_weights(weights); }),
            "load_weights: " + weights + " has no 'hidden/bias', which the model 'small' needs");
  expect_equal(model.get_weight("hidden/kernel"), before);
}

TEST_F(Saving, RefusesTwoWeightsOfOneName) {
  const auto inner = [](const std::string& name) {
    return Sequential({layers::Dense(4, {.name = "dense"})}, {.name = name});
  };
  const Tensor x = Input({4}, {.name = "x"});
  const Model model(x, inner("decoder")(inner("encoder")(x)), {.name = "both"});
  for (const char* name : {"/weights.npz", "/weights.safetensors"})
    EXPECT_EQ(message([&] { model.save_weights(folder.path() + name); }),
              "two weights of the model 'both' are named 'dense/kernel'; give their layers different names");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

}  // namespace
