// SPDX-License-Identifier: Apache-2.0
// Modules against what make_reference.py computed by PyTorch: what they print, their outputs in evaluation and in
// training, and the gradients of their inputs and parameters.
#include "tests/torch/reference.h"

using namespace pando;
using namespace pando::torch::nn;

namespace {

struct LayerCase {
  const char* name;
  Shape shape;
  std::function<Layer()> make;
};

const Shape image = {3, 2, 7, 6}, wide = {3, 4, 7, 6}, words = {3, 4, 6};

const std::vector<LayerCase> layer_cases = {
    {"conv2d", image,
     [] {
       return Conv2d(2, 3, {.kernel_size = {3, 2}});
     }},
    {"conv2d_stride", image, [] { return Conv2d(2, 3, {.kernel_size = 3, .stride = 2}); }},
    {"conv2d_strides", image,
     [] {
       return Conv2d(2, 3, {.kernel_size = {2, 3}, .stride = {2, 1}});
     }},
    {"conv2d_padding", image, [] { return Conv2d(2, 3, {.kernel_size = 3, .padding = 1}); }},
    {"conv2d_paddings", image,
     [] {
       return Conv2d(2, 3, {.kernel_size = {3, 5}, .stride = 2, .padding = {1, 2}});
     }},
    {"conv2d_same", image, [] { return Conv2d(2, 3, {.kernel_size = 3, .padding = "same"}); }},
    {"conv2d_same_even", image,
     [] {
       return Conv2d(2, 3, {.kernel_size = {2, 4}, .padding = "same"});
     }},
    {"conv2d_same_dilation", image,
     [] {
       return Conv2d(2, 3, {.kernel_size = {2, 3}, .padding = "same", .dilation = {3, 2}});
     }},
    {"conv2d_valid", image, [] { return Conv2d(2, 3, {.kernel_size = 3, .padding = "valid"}); }},
    {"conv2d_dilation", image,
     [] {
       return Conv2d(2, 3, {.kernel_size = {3, 2}, .padding = 1, .dilation = {2, 3}});
     }},
    {"conv2d_groups", wide, [] { return Conv2d(4, 6, {.kernel_size = 3, .groups = 2}); }},
    {"conv2d_depthwise", wide,
     [] { return Conv2d(4, 8, {.kernel_size = 3, .padding = 1, .groups = 4, .bias = false}); }},
    {"conv2d_pointwise", wide, [] { return Conv2d(4, 3, {.kernel_size = 1}); }},
    {"conv2d_no_bias", image, [] { return Conv2d(2, 3, {.kernel_size = 3, .bias = false}); }},
    {"conv2d_everything", wide,
     [] {
       return Conv2d(
           4, 6,
           {.kernel_size = {3, 2}, .stride = {2, 1}, .padding = {2, 1}, .dilation = 2, .groups = 2, .bias = false});
     }},
    {"conv_transpose2d", image,
     [] {
       return ConvTranspose2d(2, 3, {.kernel_size = {3, 2}});
     }},
    {"conv_transpose2d_stride", image, [] { return ConvTranspose2d(2, 3, {.kernel_size = 3, .stride = 2}); }},
    {"conv_transpose2d_gaps", image,
     [] {
       return ConvTranspose2d(2, 3, {.kernel_size = {2, 1}, .stride = {3, 2}});
     }},
    {"conv_transpose2d_padding", image,
     [] {
       return ConvTranspose2d(2, 3, {.kernel_size = {3, 4}, .stride = 2, .padding = {1, 2}});
     }},
    {"conv_transpose2d_output_padding", image,
     [] {
       return ConvTranspose2d(2, 3, {.kernel_size = 3, .stride = {2, 3}, .padding = 1, .output_padding = {1, 2}});
     }},
    {"conv_transpose2d_groups", wide,
     [] { return ConvTranspose2d(4, 6, {.kernel_size = 3, .stride = 2, .groups = 2}); }},
    {"conv_transpose2d_depthwise", wide,
     [] { return ConvTranspose2d(4, 4, {.kernel_size = 2, .stride = 2, .groups = 4, .bias = false}); }},
    {"conv_transpose2d_dilation", image,
     [] {
       return ConvTranspose2d(2, 3, {.kernel_size = {3, 2}, .dilation = {2, 3}});
     }},
    {"conv_transpose2d_output_padding_dilation", image,
     [] {
       return ConvTranspose2d(2, 3, {.kernel_size = 3, .padding = 1, .output_padding = {2, 1}, .dilation = 3});
     }},
    {"conv_transpose2d_everything", wide,
     [] {
       return ConvTranspose2d(4, 6,
                              {.kernel_size = {3, 2},
                               .stride = 2,
                               .padding = 1,
                               .output_padding = 1,
                               .groups = 2,
                               .bias = false,
                               .dilation = 2});
     }},
    {"linear", {3, 6}, [] { return Linear(6, 4); }},
    {"linear_rank3", words, [] { return Linear(6, 5); }},
    {"linear_no_bias", {3, 6}, [] { return Linear(6, 4, {.bias = false}); }},
    {"embedding", {3, 4}, [] { return Embedding(6, 3); }},
    {"max_pool2d", image, [] { return MaxPool2d({.kernel_size = 2}); }},
    {"max_pool2d_pair", image,
     [] {
       return MaxPool2d({.kernel_size = {2, 2}});
     }},
    {"max_pool2d_stride", image,
     [] {
       return MaxPool2d({.kernel_size = {3, 2}, .stride = Size2(2, 1)});
     }},
    {"max_pool2d_padding", image, [] { return MaxPool2d({.kernel_size = 3, .stride = 2, .padding = 1}); }},
    {"max_pool2d_ceil", image,
     [] {
       return MaxPool2d({.kernel_size = {2, 4}, .ceil_mode = true});
     }},
    {"max_pool2d_padding_ceil", image,
     [] {
       return MaxPool2d({.kernel_size = 3, .stride = 3, .padding = {1, 0}, .ceil_mode = true});
     }},
    {"avg_pool2d", image, [] { return AvgPool2d({.kernel_size = 2}); }},
    {"avg_pool2d_stride", image,
     [] {
       return AvgPool2d({.kernel_size = {3, 2}, .stride = Size2(2, 1)});
     }},
    {"avg_pool2d_padding", image, [] { return AvgPool2d({.kernel_size = 3, .stride = 2, .padding = 1}); }},
    {"avg_pool2d_ceil", image,
     [] {
       return AvgPool2d({.kernel_size = {2, 4}, .ceil_mode = true});
     }},
    {"avg_pool2d_padding_ceil", image,
     [] {
       return AvgPool2d({.kernel_size = 3, .stride = 3, .padding = {1, 0}, .ceil_mode = true});
     }},
    {"avg_pool2d_overlapping_ceil", image,
     [] {
       return AvgPool2d({.kernel_size = {4, 3}, .stride = 2, .padding = {2, 1}, .ceil_mode = true});
     }},
    {"avg_pool2d_without_pad", image,
     [] { return AvgPool2d({.kernel_size = 3, .stride = 2, .padding = 1, .count_include_pad = false}); }},
    {"avg_pool2d_ceil_without_pad", image,
     [] {
       return AvgPool2d(
           {.kernel_size = 3, .stride = 3, .padding = {1, 0}, .ceil_mode = true, .count_include_pad = false});
     }},
    {"adaptive_avg_pool2d", image, [] { return AdaptiveAvgPool2d(1); }},
    {"adaptive_avg_pool2d_pair", image,
     [] {
       return AdaptiveAvgPool2d({7, 3});
     }},
    {"adaptive_avg_pool2d_uneven", image,
     [] {
       return AdaptiveAvgPool2d({3, 4});
     }},
    {"adaptive_avg_pool2d_larger", image, [] { return AdaptiveAvgPool2d(9); }},
    {"batch_norm2d", image, [] { return BatchNorm2d(2); }},
    {"batch_norm2d_options", image, [] { return BatchNorm2d(2, {.eps = 0.1, .momentum = 0.3}); }},
    {"batch_norm2d_no_affine", image, [] { return BatchNorm2d(2, {.affine = false}); }},
    {"batch_norm2d_no_tracking", image, [] { return BatchNorm2d(2, {.track_running_stats = false}); }},
    {"batch_norm2d_plain", image, [] { return BatchNorm2d(2, {.affine = false, .track_running_stats = false}); }},
    {"batch_norm2d_eval", image, [] { return BatchNorm2d(2); }},
    {"batch_norm2d_eval_no_affine", image, [] { return BatchNorm2d(2, {.affine = false}); }},
    {"batch_norm2d_eval_no_tracking", image, [] { return BatchNorm2d(2, {.track_running_stats = false}); }},
    {"layer_norm", words, [] { return LayerNorm({6}); }},
    {"layer_norm_two_axes", words,
     [] {
       return LayerNorm({4, 6}, {.eps = 0.01});
     }},
    {"layer_norm_no_affine", words, [] { return LayerNorm({6}, {.elementwise_affine = false}); }},
    {"relu", words, [] { return ReLU(); }},
    {"leaky_relu", words, [] { return LeakyReLU(); }},
    {"leaky_relu_slope", words, [] { return LeakyReLU(0.3); }},
    {"gelu", words, [] { return GELU(); }},
    {"gelu_tanh", words, [] { return GELU("tanh"); }},
    {"silu", words, [] { return SiLU(); }},
    {"sigmoid", words, [] { return Sigmoid(); }},
    {"tanh", words, [] { return Tanh(); }},
    {"softmax", words, [] { return Softmax(-1); }},
    {"softmax_channels", wide, [] { return Softmax(1); }},
    {"log_softmax", words, [] { return LogSoftmax(-1); }},
    {"log_softmax_channels", wide, [] { return LogSoftmax(1); }},
    {"dropout_eval", words, [] { return Dropout(); }},
    {"dropout_eval_probability", words, [] { return Dropout(0.2); }},
    {"flatten", image, [] { return Flatten(); }},
    {"flatten_some", image, [] { return Flatten(1, 2); }},
    {"flatten_from_end", image, [] { return Flatten(-2); }},
    {"identity", words, [] { return Identity(); }},
};

// Zeros are added to the input of the layer, and the sum of its output times `factors` is to become small: the
// gradient of the zeros is that of the input. SGD with a rate of 1 subtracts gradients as they are.
struct LayerProbe : Module {
  LayerProbe(const Layer& layer, const Array& x)
      : layer(layer), zeros(register_parameter("zeros", pando::zeros(x.shape()))) {
    register_module("layer", layer);
  }
  Tensor forward(Tensor x, Tensor factors) {
    const Tensor y = layer(x.dtype() == DType::float32 ? x + zeros : x);
    poptorch::identity_loss(y * factors, "sum");
    return y;
  }

  Layer layer;
  nn::Parameter zeros;
};

// Whole numbers in [0, 6) for an embedding.
Array input_of(const LayerCase& example) {
  return std::string(example.name) == "embedding" ? hashed(0, example.shape, 3, 3).astype(DType::int32)
                                                  : hashed(0, example.shape);
}

class LayerParity : public testing::TestWithParam<LayerCase> {};

TEST_P(LayerParity, OutputsAndGradientsAreThoseOfPyTorch) {
  const std::string name = GetParam().name;
  Layer layer = GetParam().make();
  EXPECT_EQ(to_string(layer), printed(name));
  set_first_values(layer);
  const Array x = input_of(GetParam());
  const Array forward = poptorch::inferenceModel(layer)(x);
  expect_near(forward, name + ".forward");

  LayerProbe probe(layer, x);
  const NamedParameters parameters = layer.named_parameters();
  const StateDict before = layer.state_dict();
  auto training = poptorch::trainingModel(probe, {}, torch::optim::SGD(probe.parameters(), {.lr = 1.0}));
  const bool in_training = name.find("_eval") == std::string::npos;
  if (!in_training) probe.eval();
  const Array y = training(x, hashed(1, forward.shape()));
  const bool differs = in_training && !layer.named_buffers().empty();
  expect_near(y, name + (differs ? ".training" : ".forward"));
  if (x.dtype() == DType::float32) expect_near(-probe.zeros.value(), name + ".input");
  for (const auto& [key, parameter] : parameters) expect_near(before.at(key) - parameter.value(), name + "." + key);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerParity, testing::ValuesIn(layer_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LayerParity, EveryModuleIsTested) {
  std::set<std::string> tested;
  for (const LayerCase& example : layer_cases) {
    const std::string text = to_string(example.make());
    tested.insert(text.substr(0, text.find('(')));
  }
  EXPECT_EQ(tested, declared_in("modules.h", "Layer"));
}

TEST(LayerParity, RunningStatisticsAfterFourBatchesAreThoseOfPyTorch) {
  for (const LayerCase& example : layer_cases) {
    const std::string name = example.name;
    const Layer layer = example.make();
    if (layer.named_buffers().empty() || name.find("_eval") != std::string::npos) continue;
    set_first_values(layer);
    LayerProbe probe(layer, hashed(0, image));
    auto training = poptorch::trainingModel(probe, {}, torch::optim::SGD(probe.parameters(), {.lr = 0.0}));
    for (std::uint32_t number : {50u, 51u, 52u, 53u}) training(hashed(number, image), hashed(1, image));
    for (const auto& [key, buffer] : layer.named_buffers()) expect_near(buffer.value(), name + "." + key);
  }
}

TEST(LayerParity, BatchesThatAreNotTrainedOnLeaveRunningStatisticsAlone) {
  Layer layer = BatchNorm2d(2);
  set_first_values(layer);
  const StateDict before = layer.state_dict();
  poptorch::inferenceModel(layer)(hashed(0, image));
  LayerProbe probe(layer, hashed(0, image));
  auto training = poptorch::trainingModel(probe, {}, torch::optim::SGD(probe.parameters(), {.lr = 0.0}));
  probe.eval();
  training(hashed(0, image), hashed(1, image));
  for (const auto& [name, value] : layer.state_dict()) EXPECT_TRUE(array_equal(value, before.at(name))) << name;
}

TEST(LayerParity, DropoutInTrainingDropsAndScalesWhatIsKept) {
  Dropout dropout(0.2);
  const Array x = ones({100, 100});
  LayerProbe probe(dropout, x);
  auto training = poptorch::trainingModel(probe, {}, torch::optim::SGD(probe.parameters(), {.lr = 0.0}));
  const Array first = training(x, x), second = training(x, x);
  int kept = 0, others = 0;
  for (std::int64_t i = 0; i < first.elements(); ++i) {
    const float value = first.data<float>()[i];
    EXPECT_TRUE(value == 0 || value == 1.25F) << value;
    kept += value != 0;
    others += value != second.data<float>()[i];
  }
  // Five standard deviations, of the binomials with p = 0.8 and p = 2 * 0.8 * 0.2.
  EXPECT_NEAR(kept, 8000, 200);
  EXPECT_NEAR(others, 3200, 235);
}

}  // namespace
