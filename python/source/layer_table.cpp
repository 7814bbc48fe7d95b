// SPDX-License-Identifier: Apache-2.0
// The layers of Keras by the name of their class: each entry reads the arguments of one constructor.
#include "layer_table.h"

namespace pando::python {

namespace {

using keras::Layer;
using keras::Pair;
namespace layers = keras::layers;

void read_fields(Fields& fields, layers::DenseOptions& o) {
  fields("activation", o.activation)("use_bias", o.use_bias)("kernel_initializer", o.kernel_initializer);
  fields("bias_initializer", o.bias_initializer)("kernel_regularizer", o.kernel_regularizer);
  fields("bias_regularizer", o.bias_regularizer)("name", o.name);
}
void read_fields(Fields& fields, layers::Conv2DOptions& o) {
  fields("activation", o.activation)("padding", o.padding)("strides", o.strides)("dilation_rate", o.dilation_rate);
  fields("groups", o.groups)("use_bias", o.use_bias)("kernel_initializer", o.kernel_initializer);
  fields("bias_initializer", o.bias_initializer)("kernel_regularizer", o.kernel_regularizer);
  fields("bias_regularizer", o.bias_regularizer)("name", o.name);
}
void read_fields(Fields& fields, layers::DepthwiseConv2DOptions& o) {
  fields("activation", o.activation)("padding", o.padding)("strides", o.strides)("dilation_rate", o.dilation_rate);
  fields("depth_multiplier", o.depth_multiplier)("use_bias", o.use_bias);
  fields("depthwise_initializer", o.depthwise_initializer)("pointwise_initializer", o.pointwise_initializer);
  fields("bias_initializer", o.bias_initializer)("depthwise_regularizer", o.depthwise_regularizer);
  fields("pointwise_regularizer", o.pointwise_regularizer)("bias_regularizer", o.bias_regularizer)("name", o.name);
}
void read_fields(Fields& fields, layers::Pooling2DOptions& o) {
  fields("strides", o.strides)("padding", o.padding)("name", o.name);
}
void read_fields(Fields& fields, layers::GlobalPooling2DOptions& o) { fields("keepdims", o.keepdims)("name", o.name); }
void read_fields(Fields& fields, layers::ShapeLayerOptions& o) { fields("name", o.name); }
void read_fields(Fields& fields, layers::NamedOptions& o) { fields("name", o.name); }
void read_fields(Fields& fields, layers::ReLUOptions& o) {
  fields("max_value", o.max_value)("negative_slope", o.negative_slope)("name", o.name);
}
void read_fields(Fields& fields, layers::LeakyReLUOptions& o) { fields("alpha", o.alpha)("name", o.name); }
void read_fields(Fields& fields, layers::BatchNormalizationOptions& o) {
  fields("axis", o.axis)("momentum", o.momentum)("epsilon", o.epsilon)("center", o.center)("scale", o.scale);
  fields("name", o.name);
  fields("beta_initializer", o.beta_initializer)("gamma_initializer", o.gamma_initializer);
  fields("moving_mean_initializer", o.moving_mean_initializer);
  fields("moving_variance_initializer", o.moving_variance_initializer);
  fields("beta_regularizer", o.beta_regularizer)("gamma_regularizer", o.gamma_regularizer);
}
void read_fields(Fields& fields, layers::LayerNormalizationOptions& o) {
  fields("axis", o.axis)("epsilon", o.epsilon)("center", o.center)("scale", o.scale)("name", o.name);
  fields("beta_initializer", o.beta_initializer)("gamma_initializer", o.gamma_initializer);
}
void read_fields(Fields& fields, layers::EmbeddingOptions& o) {
  fields("embeddings_initializer", o.embeddings_initializer);
  fields("embeddings_regularizer", o.embeddings_regularizer)("name", o.name);
}
void read_fields(Fields& fields, layers::ConcatenateOptions& o) { fields("axis", o.axis)("name", o.name); }
void read_fields(Fields& fields, layers::UpSampling2DOptions& o) {
  fields("interpolation", o.interpolation)("name", o.name);
}
void read_fields(Fields& fields, layers::RescalingOptions& o) { fields("offset", o.offset)("name", o.name); }
void read_fields(Fields& fields, layers::RandomTransformOptions& o) {
  fields("fill_mode", o.fill_mode)("fill_value", o.fill_value)("name", o.name);
}

template <class Options>
Options options_of(Fields& fields) {
  Options options;
  read_fields(fields, options);
  return options;
}

// A class whose constructor takes options alone.
template <class Class, class Options>
Layer plain(Fields& fields) {
  return Class(options_of<Options>(fields));
}
template <class Class, class Options>
Layer with_filters(Fields& fields) {
  const auto filters = fields.get<std::int64_t>("filters", 0);
  const auto kernel = fields.get<Pair>("kernel_size", 1);
  return Class(filters, kernel, options_of<Options>(fields));
}
template <class Class>
Layer pooling(Fields& fields) {
  const auto size = fields.get<Pair>("pool_size", 2);
  return Class(size, options_of<layers::Pooling2DOptions>(fields));
}

using Make = Layer (*)(Fields& fields);

const std::map<std::string, Make>& core_table() {
  static const std::map<std::string, Make> table = {
      {"Dense",
       [](Fields& f) -> Layer {
         const auto units = f.get<std::int64_t>("units", 0);
         return layers::Dense(units, options_of<layers::DenseOptions>(f));
       }},
      {"Conv2D", with_filters<layers::Conv2D, layers::Conv2DOptions>},
      {"Conv2DTranspose", with_filters<layers::Conv2DTranspose, layers::Conv2DOptions>},
      {"SeparableConv2D", with_filters<layers::SeparableConv2D, layers::DepthwiseConv2DOptions>},
      {"DepthwiseConv2D",
       [](Fields& f) -> Layer {
         const auto kernel = f.get<Pair>("kernel_size", 1);
         return layers::DepthwiseConv2D(kernel, options_of<layers::DepthwiseConv2DOptions>(f));
       }},
      {"MaxPooling2D", pooling<layers::MaxPooling2D>},
      {"AveragePooling2D", pooling<layers::AveragePooling2D>},
      {"GlobalAveragePooling2D", plain<layers::GlobalAveragePooling2D, layers::GlobalPooling2DOptions>},
      {"GlobalMaxPooling2D", plain<layers::GlobalMaxPooling2D, layers::GlobalPooling2DOptions>},
      {"Embedding",
       [](Fields& f) -> Layer {
         const auto rows = f.get<std::int64_t>("input_dim", 0), columns = f.get<std::int64_t>("output_dim", 0);
         return layers::Embedding(rows, columns, options_of<layers::EmbeddingOptions>(f));
       }},
      {"BatchNormalization", plain<layers::BatchNormalization, layers::BatchNormalizationOptions>},
      {"LayerNormalization", plain<layers::LayerNormalization, layers::LayerNormalizationOptions>},
      {"Add", plain<layers::Add, layers::NamedOptions>},
      {"Multiply", plain<layers::Multiply, layers::NamedOptions>},
      {"Concatenate", plain<layers::Concatenate, layers::ConcatenateOptions>},
      {"Softmax", plain<layers::Softmax, layers::NamedOptions>},
      {"ReLU", plain<layers::ReLU, layers::ReLUOptions>},
      {"LeakyReLU", plain<layers::LeakyReLU, layers::LeakyReLUOptions>}};
  return table;
}

const std::map<std::string, Make>& shape_table() {
  static const std::map<std::string, Make> table = {
      {"Flatten", plain<layers::Flatten, layers::ShapeLayerOptions>},
      {"Reshape",
       [](Fields& f) -> Layer {
         const auto shape = f.get<Shape>("target_shape", {});
         return layers::Reshape(shape, options_of<layers::ShapeLayerOptions>(f));
       }},
      {"Permute",
       [](Fields& f) -> Layer {
         const auto dims = f.get<std::vector<std::int64_t>>("dims", {});
         return layers::Permute(dims, options_of<layers::ShapeLayerOptions>(f));
       }},
      {"Dropout",
       [](Fields& f) -> Layer {
         const auto rate = f.get<double>("rate", 0.5);
         return layers::Dropout(rate, options_of<layers::NamedOptions>(f));
       }},
      {"Activation",
       [](Fields& f) -> Layer {
         const auto activation = f.get<keras::Activation>("activation", {});
         return layers::Activation(activation, options_of<layers::NamedOptions>(f));
       }},
      {"ZeroPadding2D",
       [](Fields& f) -> Layer {
         const auto padding = f.get<layers::Padding2D>("padding", 1);
         return layers::ZeroPadding2D(padding, options_of<layers::NamedOptions>(f));
       }},
      {"UpSampling2D",
       [](Fields& f) -> Layer {
         const auto size = f.get<Pair>("size", 2);
         return layers::UpSampling2D(size, options_of<layers::UpSampling2DOptions>(f));
       }},
      {"Rescaling",
       [](Fields& f) -> Layer {
         const auto scale = f.get<double>("scale", 1);
         return layers::Rescaling(scale, options_of<layers::RescalingOptions>(f));
       }},
      {"RandomFlip",
       [](Fields& f) -> Layer {
         const auto mode = f.get<std::string>("mode", "horizontal_and_vertical");
         return layers::RandomFlip(mode, options_of<layers::NamedOptions>(f));
       }},
      {"RandomTranslation",
       [](Fields& f) -> Layer {
         const auto height = f.get<double>("height_factor", 0), width = f.get<double>("width_factor", 0);
         return layers::RandomTranslation(height, width, options_of<layers::RandomTransformOptions>(f));
       }},
      {"RandomRotation",
       [](Fields& f) -> Layer {
         const auto factor = f.get<double>("factor", 0);
         return layers::RandomRotation(factor, options_of<layers::RandomTransformOptions>(f));
       }},
      {"InputLayer", [](Fields& f) -> Layer {
         const auto shape = f.get<Shape>("shape", {});
         keras::InputOptions options;
         f("dtype", options.dtype)("name", options.name);
         return layers::InputLayer(shape, options);
       }}};
  return table;
}

}  // namespace

Layer make_layer(const std::string& kind, const py::dict& arguments) {
  for (const auto* table : {&core_table(), &shape_table()}) {
    const auto entry = table->find(kind);
    if (entry == table->end()) continue;
    Fields fields(kind, arguments);
    const Layer layer = entry->second(fields);
    fields.finish();
    return layer;
  }
  throw InternalError("there is no layer '" + kind + "'");
}

}  // namespace pando::python
