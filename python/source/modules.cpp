// SPDX-License-Identifier: Apache-2.0
// torch: parameters, the layers and losses that the library has, and optimizers. The tree of a user's modules is
// Python's; C++ sees its leaves.
#include <pando/frontends/torch/losses.h>
#include <pando/frontends/torch/modules.h>
#include <pando/frontends/torch/optim.h>

#include "bind.h"

namespace pando::python {

namespace {

namespace nn = torch::nn;
namespace optim = torch::optim;
using torch::nn::Size2;
using Weight = std::optional<Array>;

// 3, or (3, 5).
Size2 size_from(const py::object& size) {
  if (py::isinstance<py::int_>(size)) return size.cast<std::int64_t>();
  const auto sizes = size.cast<std::vector<std::int64_t>>();
  if (sizes.size() == 1) return sizes[0];
  if (sizes.size() != 2) throw py::value_error("a size of images is one number, or a height and a width");
  return {sizes[0], sizes[1]};
}

std::optional<Size2> optional_size(const py::object& size) {
  return size.is_none() ? std::nullopt : std::optional(size_from(size));
}

nn::ConvPadding padding_from(const py::object& padding) {
  if (py::isinstance<py::str>(padding)) return padding.cast<std::string>().c_str();
  const Size2 size = size_from(padding);
  return {size.height, size.width};
}

void bind_torch_parameters(py::module_& module) {
  py::class_<nn::Parameter>(module, "Parameter", "A weight in PyTorch's layout; copies are the same parameter.")
      .def(py::init<const Array&, bool>(), py::arg("value"), py::arg("requires_grad") = true)
      .def_property_readonly("shape", &nn::Parameter::shape)
      .def("value", &nn::Parameter::value)
      .def("set_value", &nn::Parameter::set_value, py::arg("value"))
      .def(
          "adopt",
          [](const nn::Parameter& self, std::uintptr_t address, const py::object& owner) {
            self.adopt(reinterpret_cast<void*>(address), Held(owner).owner());
          },
          py::arg("address"), py::arg("owner"), "Keeps the value in this memory, which has it already.")
      .def_property("requires_grad", &nn::Parameter::requires_grad,
                    [](const nn::Parameter& self, bool needed) { self.requires_grad_(needed); })
      .def("symbol", [](const nn::Parameter& self) { return Tensor(self); })
      .def("is_same", [](const nn::Parameter& a, const nn::Parameter& b) { return a == b; });
  py::class_<nn::Module>(module, "Module", "A leaf of a tree of modules.")
      .def("parameters", &nn::Module::named_parameters)
      .def("buffers", &nn::Module::named_buffers)
      .def("set_parameter", &nn::Module::set_parameter, py::arg("name"), py::arg("parameter"))
      .def("train", &nn::Module::train, py::arg("mode"))
      .def("__str__", [](const nn::Module& self) { return to_string(self); });
  py::class_<nn::Layer, nn::Module>(module, "Layer").def("__call__", &nn::Layer::forward, py::arg("x"));
  py::class_<nn::Loss, nn::Module>(module, "Loss")
      .def("__call__", &nn::Loss::forward, py::arg("input"), py::arg("target"));
}

void bind_linear(py::module_& module) {
  module.def(
      "conv2d",
      [](std::int64_t in, std::int64_t out, const py::object& kernel, const py::object& stride,
         const py::object& padding, const py::object& dilation, std::int64_t groups, bool bias) -> nn::Layer {
        return nn::Conv2d(in, out,
                          {.kernel_size = size_from(kernel),
                           .stride = size_from(stride),
                           .padding = padding_from(padding),
                           .dilation = size_from(dilation),
                           .groups = groups,
                           .bias = bias});
      },
      py::arg("in_channels"), py::arg("out_channels"), py::arg("kernel_size"), py::arg("stride"), py::arg("padding"),
      py::arg("dilation"), py::arg("groups"), py::arg("bias"));
  module.def(
      "conv_transpose2d",
      [](std::int64_t in, std::int64_t out, const py::object& kernel, const py::object& stride,
         const py::object& padding, const py::object& output_padding, std::int64_t groups, bool bias,
         const py::object& dilation) -> nn::Layer {
        return nn::ConvTranspose2d(in, out,
                                   {.kernel_size = size_from(kernel),
                                    .stride = size_from(stride),
                                    .padding = size_from(padding),
                                    .output_padding = size_from(output_padding),
                                    .groups = groups,
                                    .bias = bias,
                                    .dilation = size_from(dilation)});
      },
      py::arg("in_channels"), py::arg("out_channels"), py::arg("kernel_size"), py::arg("stride"), py::arg("padding"),
      py::arg("output_padding"), py::arg("groups"), py::arg("bias"), py::arg("dilation"));
  module.def(
      "linear",
      [](std::int64_t in, std::int64_t out, bool bias) -> nn::Layer { return nn::Linear(in, out, {.bias = bias}); },
      py::arg("in_features"), py::arg("out_features"), py::arg("bias"));
  module.def(
      "embedding", [](std::int64_t count, std::int64_t size) -> nn::Layer { return nn::Embedding(count, size); },
      py::arg("num_embeddings"), py::arg("embedding_dim"));
}

void bind_pooling_and_norms(py::module_& module) {
  module.def(
      "max_pool2d",
      [](const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil) -> nn::Layer {
        return nn::MaxPool2d({.kernel_size = size_from(kernel),
                              .stride = optional_size(stride),
                              .padding = size_from(padding),
                              .ceil_mode = ceil});
      },
      py::arg("kernel_size"), py::arg("stride"), py::arg("padding"), py::arg("ceil_mode"));
  module.def(
      "avg_pool2d",
      [](const py::object& kernel, const py::object& stride, const py::object& padding, bool ceil,
         bool count) -> nn::Layer {
        return nn::AvgPool2d({.kernel_size = size_from(kernel),
                              .stride = optional_size(stride),
                              .padding = size_from(padding),
                              .ceil_mode = ceil,
                              .count_include_pad = count});
      },
      py::arg("kernel_size"), py::arg("stride"), py::arg("padding"), py::arg("ceil_mode"),
      py::arg("count_include_pad"));
  module.def(
      "adaptive_avg_pool2d", [](const py::object& size) -> nn::Layer { return nn::AdaptiveAvgPool2d(size_from(size)); },
      py::arg("output_size"));
  module.def(
      "batch_norm2d",
      [](std::int64_t features, double eps, double momentum, bool affine, bool track) -> nn::Layer {
        return nn::BatchNorm2d(features,
                               {.eps = eps, .momentum = momentum, .affine = affine, .track_running_stats = track});
      },
      py::arg("num_features"), py::arg("eps"), py::arg("momentum"), py::arg("affine"), py::arg("track_running_stats"));
  module.def(
      "layer_norm",
      [](const Shape& shape, double eps, bool affine) -> nn::Layer {
        return nn::LayerNorm(shape, {.eps = eps, .elementwise_affine = affine});
      },
      py::arg("normalized_shape"), py::arg("eps"), py::arg("elementwise_affine"));
  module.def(
      "dropout", [](double p) -> nn::Layer { return nn::Dropout(p); }, py::arg("p"));
}

// Layers without weights, whose nodes a trace names after them.
void bind_activations(py::module_& module) {
  module.def("relu", []() -> nn::Layer { return nn::ReLU(); });
  module.def(
      "leaky_relu", [](double slope) -> nn::Layer { return nn::LeakyReLU(slope); }, py::arg("negative_slope"));
  module.def(
      "gelu", [](const std::string& form) -> nn::Layer { return nn::GELU(form); }, py::arg("approximate"));
  module.def("silu", []() -> nn::Layer { return nn::SiLU(); });
  module.def("sigmoid", []() -> nn::Layer { return nn::Sigmoid(); });
  module.def("tanh", []() -> nn::Layer { return nn::Tanh(); });
  module.def(
      "softmax", [](std::int64_t dim) -> nn::Layer { return nn::Softmax(dim); }, py::arg("dim"));
  module.def(
      "log_softmax", [](std::int64_t dim) -> nn::Layer { return nn::LogSoftmax(dim); }, py::arg("dim"));
  module.def(
      "flatten", [](std::int64_t start, std::int64_t end) -> nn::Layer { return nn::Flatten(start, end); },
      py::arg("start_dim"), py::arg("end_dim"));
  module.def("identity", []() -> nn::Layer { return nn::Identity(); });
}

void bind_torch_losses(py::module_& module) {
  module.def(
      "cross_entropy_loss",
      [](const Weight& weight, std::int64_t ignored, const std::string& reduction, double smoothing) -> nn::Loss {
        return nn::CrossEntropyLoss(
            {.weight = weight, .ignore_index = ignored, .reduction = reduction, .label_smoothing = smoothing});
      },
      py::arg("weight"), py::arg("ignore_index"), py::arg("reduction"), py::arg("label_smoothing"));
  module.def(
      "nll_loss",
      [](const Weight& weight, std::int64_t ignored, const std::string& reduction) -> nn::Loss {
        return nn::NLLLoss({.weight = weight, .ignore_index = ignored, .reduction = reduction});
      },
      py::arg("weight"), py::arg("ignore_index"), py::arg("reduction"));
  module.def(
      "mse_loss", [](const std::string& reduction) -> nn::Loss { return nn::MSELoss({.reduction = reduction}); },
      py::arg("reduction"));
  module.def(
      "l1_loss", [](const std::string& reduction) -> nn::Loss { return nn::L1Loss({.reduction = reduction}); },
      py::arg("reduction"));
  module.def(
      "smooth_l1_loss",
      [](const std::string& reduction, double beta) -> nn::Loss {
        return nn::SmoothL1Loss({.reduction = reduction, .beta = beta});
      },
      py::arg("reduction"), py::arg("beta"));
  module.def(
      "bce_with_logits_loss",
      [](const Weight& weight, const std::string& reduction, const Weight& positive) -> nn::Loss {
        return nn::BCEWithLogitsLoss({.weight = weight, .reduction = reduction, .pos_weight = positive});
      },
      py::arg("weight"), py::arg("reduction"), py::arg("pos_weight"));
}

// A group of parameters and its options, as a dict.
using Groups = std::vector<std::pair<optim::Parameters, py::dict>>;

template <class T>
void read(const py::dict& options, const char* name, T& into) {
  if (options.contains(name)) into = py::cast<T>(options[name]);
}

void read_all(const py::dict& from, optim::SGDOptions& into) {
  read(from, "lr", into.lr);
  read(from, "momentum", into.momentum);
  read(from, "dampening", into.dampening);
  read(from, "weight_decay", into.weight_decay);
  read(from, "nesterov", into.nesterov);
}
template <class Options>
requires(std::is_same_v<Options, optim::AdamOptions> ||
         std::is_same_v<Options, optim::AdamWOptions>) void read_all(const py::dict& from, Options& into) {
  read(from, "lr", into.lr);
  read(from, "betas", into.betas);
  read(from, "eps", into.eps);
  read(from, "weight_decay", into.weight_decay);
}
void read_all(const py::dict& from, optim::RMSpropOptions& into) {
  read(from, "lr", into.lr);
  read(from, "alpha", into.alpha);
  read(from, "eps", into.eps);
  read(from, "weight_decay", into.weight_decay);
  read(from, "momentum", into.momentum);
  read(from, "centered", into.centered);
}

void read_all(const py::dict& from, optim::AdadeltaOptions& into) {
  read(from, "lr", into.lr);
  read(from, "rho", into.rho);
  read(from, "eps", into.eps);
  read(from, "weight_decay", into.weight_decay);
}
void read_all(const py::dict& from, optim::AdagradOptions& into) {
  read(from, "lr", into.lr);
  read(from, "lr_decay", into.lr_decay);
  read(from, "weight_decay", into.weight_decay);
  read(from, "initial_accumulator_value", into.initial_accumulator_value);
  read(from, "eps", into.eps);
}

template <class Rule, class Options>
optim::Optimizer make_torch_optimizer(const Groups& groups) {
  std::optional<Rule> made;
  for (const auto& [parameters, given] : groups) {
    Options options;
    read_all(given, options);
    if (!made) made.emplace(parameters, options);
    else made->add_param_group(parameters, options);
  }
  if (!made) throw py::value_error("optimizer got an empty parameter list");
  return *made;
}

void bind_torch_optimizers(py::module_& module) {
  py::class_<optim::Optimizer>(module, "Optimizer")
      .def("set_lr", &optim::Optimizer::set_lr, py::arg("lr"), py::arg("group"))
      .def("lr", &optim::Optimizer::lr, py::arg("group"));
  module.def("sgd", &make_torch_optimizer<optim::SGD, optim::SGDOptions>, py::arg("groups"));
  module.def("adam", &make_torch_optimizer<optim::Adam, optim::AdamOptions>, py::arg("groups"));
  module.def("adamw", &make_torch_optimizer<optim::AdamW, optim::AdamWOptions>, py::arg("groups"));
  module.def("adadelta", &make_torch_optimizer<optim::Adadelta, optim::AdadeltaOptions>, py::arg("groups"));
  module.def("adagrad", &make_torch_optimizer<optim::Adagrad, optim::AdagradOptions>, py::arg("groups"));
  module.def("rmsprop", &make_torch_optimizer<optim::RMSprop, optim::RMSpropOptions>, py::arg("groups"));
}

}  // namespace

void bind_modules(py::module_& module) {
  py::module_ part = module.def_submodule("torch", "What pando.torch is made of.");
  bind_torch_parameters(part);
  bind_linear(part);
  bind_pooling_and_norms(part);
  bind_activations(part);
  bind_torch_losses(part);
  bind_torch_optimizers(part);
}

}  // namespace pando::python
