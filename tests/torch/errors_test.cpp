// SPDX-License-Identifier: Apache-2.0
// What modules say about options and tensors that they cannot take.
#include "tests/message.h"
#include "tests/torch/reference.h"

using namespace pando;

namespace {

struct OneConvolution : nn::Module {
  OneConvolution() : conv(1, 4, {.kernel_size = 3}) { register_modules({{"conv", conv}, {"relu", relu}}); }
  Tensor forward(Tensor x) { return relu(conv(x)); }

  nn::Conv2d conv;
  nn::ReLU relu;
};

struct OneBlock : nn::Module {
  OneBlock() { register_module("layer1", layer1); }
  Tensor forward(Tensor x) { return layer1.forward(x); }

  OneConvolution layer1;
};

template <class Module>
std::string refused(Module module, const Array& x) {
  return message([&] { poptorch::inferenceModel(module)(x); });
}

TEST(Modules, SayWhichOfThemCannotTakeAShape) {
  const OneBlock network;
  EXPECT_EQ(refused(network, ones({2, 3, 28, 28})),
            "layer1.conv (Conv2d) cannot take [2, 3, 28, 28]: the input has 3 channels but in_channels is 1");
  EXPECT_EQ(refused(network, ones({2, 784})),
            "layer1.conv (Conv2d) cannot take [2, 784]: the input must have the axes [batch, channels, height, width]; "
            "reshape it with view()");
  EXPECT_EQ(refused(nn::Linear(3, 2), ones({2, 4})),
            "Linear cannot take [2, 4]: the last axis of the input must have size in_features = 3");
  EXPECT_EQ(refused(nn::ConvTranspose2d(3, 2, {.kernel_size = 2}), ones({2, 4, 5, 5})),
            "ConvTranspose2d cannot take [2, 4, 5, 5]: the input has 4 channels but in_channels is 3");
  EXPECT_EQ(refused(nn::BatchNorm2d(3), ones({2, 4, 5, 5})),
            "BatchNorm2d cannot take [2, 4, 5, 5]: the input has 4 channels but num_features is 3");
  EXPECT_EQ(refused(nn::LayerNorm({4, 5}), ones({2, 5, 4})),
            "LayerNorm cannot take [2, 5, 4]: the input must end in the axes [4, 5]");
  EXPECT_EQ(refused(nn::Embedding(3, 2), ones({2, 4})),
            "Embedding cannot take [2, 4]: the input must have integers: the rows to look up");
  EXPECT_EQ(refused(nn::Softmax(2), ones({2, 4})), "Softmax cannot take [2, 4]: dim is 2 but the input has 2 axes");
  EXPECT_EQ(refused(nn::Flatten(1, 2), ones({2, 4})),
            "Flatten cannot take [2, 4]: start_dim 1 and end_dim 2 are not axes of the input in this order");
  EXPECT_EQ(refused(nn::MaxPool2d({.kernel_size = 2, .padding = 2}), ones({2, 1, 4, 4})),
            "MaxPool2d cannot take [2, 1, 4, 4]: the padding 2 is more than half of the kernel_size 2");
}

struct NormOfOne : nn::Module {
  NormOfOne() : norm(3) { register_module("norm", norm); }
  Tensor forward(Tensor x) { return poptorch::identity_loss(norm(x), "sum"); }
  nn::BatchNorm2d norm;
};

TEST(Modules, BatchNormSaysThatOneValueHasNoVariance) {
  NormOfOne model;
  auto training = poptorch::trainingModel(model, {}, torch::optim::SGD(model.parameters()));
  EXPECT_EQ(message([&] {
              training(ones({1, 3, 1, 1}));
            }),
            "norm (BatchNorm2d) cannot take [1, 3, 1, 1]: it has one value of each channel, which have no variance; "
            "train with larger batches, or call eval()");
}

TEST(Modules, SayWhichOptionsCannotBe) {
  using namespace nn;
  EXPECT_EQ(message([] { Conv2d(4, 3, {.kernel_size = 3, .groups = 2}); }),
            "Conv2d: in_channels 4 and out_channels 3 must be divisible by groups 2");
  EXPECT_EQ(message([] { Conv2d(0, 3, {.kernel_size = 3}); }), "Conv2d: in_channels is 0 but must be positive");
  EXPECT_EQ(message([] {
              Conv2d(4, 3, {.kernel_size = {3, 0}});
            }),
            "Conv2d: kernel_size is (3, 0) but must be positive");
  EXPECT_EQ(message([] { Conv2d(4, 3, {.kernel_size = 3, .stride = 2, .padding = "same"}); }),
            "Conv2d: padding 'same' needs a stride of 1; give the padding as a number");
  EXPECT_EQ(message([] { Conv2d(4, 3, {.kernel_size = 3, .padding = "full"}); }),
            "Conv2d: the padding is 'full' but must be a number, 'same' or 'valid'");
  EXPECT_EQ(message([] {
              ConvTranspose2d(4, 3, {.kernel_size = 3, .stride = 2, .output_padding = {1, 2}});
            }),
            "ConvTranspose2d: output_padding is (1, 2) but must be smaller than the stride (2, 2) or the dilation (1, "
            "1)");
  EXPECT_EQ(message([] { Linear(0, 3); }), "Linear: in_features is 0 but must be positive");
  EXPECT_EQ(message([] { Embedding(3, 0); }), "Embedding: embedding_dim is 0 but must be positive");
  EXPECT_EQ(message([] { MaxPool2d({.kernel_size = 2, .stride = 0}); }), "MaxPool2d: stride is 0 but must be positive");
  EXPECT_EQ(message([] { AvgPool2d({.kernel_size = -1}); }), "AvgPool2d: kernel_size is -1 but must be positive");
  EXPECT_EQ(message([] {
              AdaptiveAvgPool2d({1, 0});
            }),
            "AdaptiveAvgPool2d: output_size is (1, 0) but must be positive");
  EXPECT_EQ(message([] { BatchNorm2d(0); }), "BatchNorm2d: num_features is 0 but must be positive");
  EXPECT_EQ(message([] { GELU("erf"); }), "GELU: approximate is 'erf' but must be 'none' or 'tanh'");
  EXPECT_EQ(message([] { Dropout(1.5); }), "Dropout: the probability has to be between 0 and 1, but it is 1.5");
}

}  // namespace
