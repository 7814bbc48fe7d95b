// SPDX-License-Identifier: Apache-2.0
// Every op by its name. Its attributes are read from Python once, when it is called: a recorded op runs again whenever
// its model is compiled, without Python.
#include "op_table.h"

namespace pando::python {

namespace {

// "valid", "same", or the sizes before and after along each axis: above, below, left and right of images.
template <class Options>
void read_padding(Reader& reader, Options& options) {
  const py::object padding = reader.get<py::object>("padding", py::str("valid"));
  if (!py::isinstance<py::str>(padding)) {
    options.padding = ops::Padding::explicit_sizes;
    options.padding_sizes = padding.cast<decltype(options.padding_sizes)>();
    return;
  }
  const auto text = padding.cast<std::string>();
  if (text != "valid" && text != "same")
    throw py::value_error("the padding is '" + text + "' but must be 'valid', 'same' or " +
                          std::to_string(options.padding_sizes.size()) + " sizes");
  options.padding = text == "same" ? ops::Padding::same : ops::Padding::valid;
}

template <class Options>
Options conv_options(Reader& reader) {
  Options options;
  options.strides = reader.get("strides", options.strides);
  options.dilations = reader.get("dilations", options.dilations);
  read_padding(reader, options);
  options.groups = reader.get("groups", options.groups);
  return options;
}

template <class Options>
Options pool_options(Reader& reader) {
  Options options;
  options.window = reader.get("window", options.window);
  options.strides = reader.get("strides", options.strides);
  options.dilations = reader.get("dilations", options.dilations);
  read_padding(reader, options);
  options.count_padding = reader.get("count_padding", options.count_padding);
  return options;
}

ops::ReduceOptions reduce_options(Reader& reader) {
  return {.axes = reader.get("axes", Integers()), .keep_dims = reader.get("keep_dims", false)};
}

// One of the results of batch_norm; calls for each of them become one in the compiler.
using BatchNormOutput = Value ops::BatchNorm::*;
BatchNormOutput batch_norm_output(Reader& reader) {
  const auto text = reader.get<std::string>("output", "y");
  if (text == "y") return &ops::BatchNorm::y;
  if (text == "mean") return &ops::BatchNorm::mean;
  if (text == "variance") return &ops::BatchNorm::variance;
  throw py::value_error("the output is '" + text + "' but must be 'y', 'mean' or 'variance'");
}

// One of several words, as the value that stands for it.
template <class Choice>
Choice read_choice(Reader& reader, const char* name, const char* otherwise,
                   const std::vector<std::pair<std::string_view, Choice>>& choices) {
  const auto text = reader.get<std::string>(name, otherwise);
  std::string known;
  for (const auto& [word, choice] : choices) {
    if (text == word) return choice;
    known += (known.empty() ? "'" : ", '") + std::string(word) + "'";
  }
  throw py::value_error("the " + std::string(name) + " is '" + text + "' but must be one of " + known);
}

ops::ScatterOptions scatter_options(Reader& reader) {
  using ops::ScatterMode;
  return {.axis = reader.get("axis", std::int64_t{-1}),
          .mode = read_choice<ScatterMode>(reader, "mode", "set",
                                           {{"set", ScatterMode::set},
                                            {"add", ScatterMode::add},
                                            {"multiply", ScatterMode::multiply},
                                            {"maximum", ScatterMode::maximum},
                                            {"minimum", ScatterMode::minimum}})};
}

ops::CumulativeOptions cumulative_options(Reader& reader) {
  using ops::CumulativeMode;
  return {.axis = reader.get("axis", std::int64_t{-1}),
          .mode = read_choice<CumulativeMode>(reader, "mode", "add",
                                              {{"add", CumulativeMode::add},
                                               {"multiply", CumulativeMode::multiply},
                                               {"maximum", CumulativeMode::maximum},
                                               {"minimum", CumulativeMode::minimum}}),
          .reverse = reader.get("reverse", false)};
}

ops::SortOptions sort_options(Reader& reader) {
  return {.axis = reader.get("axis", std::int64_t{-1}), .descending = reader.get("descending", false)};
}

// A size of -1 reaches to the end of the axis.
Value slice_to_end(Value x, const Integers& starts, Integers sizes) {
  for (std::size_t i = 0; i < sizes.size() && i < starts.size() && static_cast<int>(i) < x.shape().rank(); ++i)
    if (sizes[i] == -1) sizes[i] = x.shape()[static_cast<int>(i)] - starts[i];
  return ops::slice(x, starts, sizes);
}

// A size of -1 stays what it is.
Value broadcast_to(Value x, Shape shape) {
  const int offset = shape.rank() - x.shape().rank();
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == -1 && axis >= offset) shape[axis] = x.shape()[axis - offset];
  return ops::broadcast(x, shape);
}

Op plain(Value (*op)(Value)) {
  return {1, [op](Reader&) -> Build { return [op](const Values& v) { return op(v[0]); }; }};
}
Op plain(Value (*op)(Value, Value)) {
  return {2, [op](Reader&) -> Build { return [op](const Values& v) { return op(v[0], v[1]); }; }};
}
Op with_number(const char* name, double otherwise, Value (*op)(Value, double)) {
  return {1, [=](Reader& reader) -> Build {
            return [op, number = reader.get(name, otherwise)](const Values& v) { return op(v[0], number); };
          }};
}
Op with_number(const char* name, double otherwise, Value (*op)(Value, Value, double)) {
  return {2, [=](Reader& reader) -> Build {
            return [op, number = reader.get(name, otherwise)](const Values& v) { return op(v[0], v[1], number); };
          }};
}
Op reduction(Value (*op)(Value, const ops::ReduceOptions&)) {
  return {1, [op](Reader& reader) -> Build {
            return [op, options = reduce_options(reader)](const Values& v) { return op(v[0], options); };
          }};
}

template <class Options>
Op convolution(Value (*op)(Value, Value, const Options&)) {
  return {2, [op](Reader& reader) -> Build {
            return [op, options = conv_options<Options>(reader)](const Values& v) { return op(v[0], v[1], options); };
          }};
}
template <class Options, class Size>
Op transposed_convolution(Value (*op)(Value, Value, const Options&, Size)) {
  return {2, [op](Reader& reader) -> Build {
            const auto options = conv_options<Options>(reader);
            return [op, options, size = reader.get("output_size", Size{})](const Values& v) {
              return op(v[0], v[1], options, size);
            };
          }};
}
template <class Options>
Op pooling(Value (*op)(Value, const Options&)) {
  return {1, [op](Reader& reader) -> Build {
            return [op, options = pool_options<Options>(reader)](const Values& v) { return op(v[0], options); };
          }};
}

void add_elementwise(OpTable& table) {
#define PANDO_OP(name)
#define PANDO_UNARY(name) table.emplace(#name, plain(ops::name));
#define PANDO_UNARY_NUMERIC(name) table.emplace(#name, plain(ops::name));
#define PANDO_LOGICAL_1(name) table.emplace(#name, plain(ops::name));
#define PANDO_BINARY(name) table.emplace(#name, plain(ops::name));
#define PANDO_BINARY_NUMERIC(name) table.emplace(#name, plain(ops::name));
#define PANDO_BINARY_INTEGER(name) table.emplace(#name, plain(ops::name));
#define PANDO_COMPARISON(name) table.emplace(#name, plain(ops::name));
#define PANDO_LOGICAL_2(name) table.emplace(#name, plain(ops::name));
#define PANDO_UNARY_WITH_NUMBERS(name)
#define PANDO_UNARY_NUMERIC_WITH_NUMBERS(name)
#define PANDO_BINARY_WITH_NUMBERS(name)
#include <pando/ops/elementwise.def>
#undef PANDO_OP
  table.emplace("leaky_relu", with_number("alpha", 0.01, ops::leaky_relu));
  table.emplace("elu", with_number("alpha", 1.0, ops::elu));
  table.emplace("huber_error", with_number("delta", 1.0, ops::huber_error));
  table.emplace("binary_cross_entropy", with_number("epsilon", 1e-7, ops::binary_cross_entropy));
  table.emplace("clip", Op{1, [](Reader& reader) -> Build {
                             return [min = reader.get("min", -1e308), max = reader.get("max", 1e308)](const Values& v) {
                               return ops::clip(v[0], min, max);
                             };
                           }});
  table.emplace("select",
                Op{3, [](Reader&) -> Build { return [](const Values& v) { return ops::select(v[0], v[1], v[2]); }; }});
  table.emplace("cast", Op{1, [](Reader& reader) -> Build {
                             return [dtype = reader.get("dtype", DType::float32)](const Values& v) {
                               return ops::cast(v[0], dtype);
                             };
                           }});
}

void add_products(OpTable& table) {
  table.emplace("matmul", Op{2, [](Reader& reader) -> Build {
                               return [options = ops::MatmulOptions{.transpose_a = reader.get("transpose_a", false),
                                                                    .transpose_b = reader.get("transpose_b", false)}](
                                          const Values& v) { return ops::matmul(v[0], v[1], options); };
                             }});
  table.emplace("conv2d", convolution(ops::conv2d));
  table.emplace("depthwise_conv2d", convolution(ops::depthwise_conv2d));
  table.emplace("conv2d_transpose", transposed_convolution(ops::conv2d_transpose));
  table.emplace("conv3d", convolution(ops::conv3d));
  table.emplace("conv3d_transpose", transposed_convolution(ops::conv3d_transpose));
  table.emplace("max_pool", pooling(ops::max_pool));
  table.emplace("average_pool", pooling(ops::average_pool));
  table.emplace("max_pool3d", pooling(ops::max_pool3d));
  table.emplace("average_pool3d", pooling(ops::average_pool3d));
  table.emplace("global_max_pool", plain(ops::global_max_pool));
  table.emplace("global_average_pool", plain(ops::global_average_pool));
}

void add_reductions_and_losses(OpTable& table) {
  table.emplace("reduce_sum", reduction(ops::reduce_sum));
  table.emplace("reduce_mean", reduction(ops::reduce_mean));
  table.emplace("reduce_max", reduction(ops::reduce_max));
  table.emplace("argmax", Op{1, [](Reader& reader) -> Build {
                               return [axis = reader.get("axis", std::int64_t{-1})](const Values& v) {
                                 return ops::argmax(v[0], axis);
                               };
                             }});
  table.emplace("softmax", plain(ops::softmax));
  table.emplace("log_softmax", plain(ops::log_softmax));
  table.emplace("softmax_cross_entropy", plain(ops::softmax_cross_entropy));
  table.emplace("mean_squared_error", plain(ops::mean_squared_error));
  table.emplace("mean_absolute_error", plain(ops::mean_absolute_error));
  table.emplace("huber", with_number("delta", 1.0, ops::huber));
  table.emplace("sparse_softmax_cross_entropy",
                Op{2, [](Reader& reader) -> Build {
                     const auto ignored = reader.get<std::optional<std::int64_t>>("ignored", std::nullopt);
                     return [ignored](const Values& v) {
                       return ops::sparse_softmax_cross_entropy(v[0], v[1], {.ignored = ignored});
                     };
                   }});
  table.emplace("layer_norm", Op{3, [](Reader& reader) -> Build {
                                   return [epsilon = reader.get("epsilon", 1e-5)](const Values& v) {
                                     return ops::layer_norm(v[0], v[1], v[2], epsilon);
                                   };
                                 }});
  table.emplace("batch_norm", Op{3, [](Reader& reader) -> Build {
                                   const BatchNormOutput output = batch_norm_output(reader);
                                   return [output, epsilon = reader.get("epsilon", 1e-5)](const Values& v) {
                                     return ops::batch_norm(v[0], v[1], v[2], epsilon).*output;
                                   };
                                 }});
}

void add_shapes(OpTable& table) {
  table.emplace("stop_gradient", plain(ops::stop_gradient));
  table.emplace("reshape", Op{1, [](Reader& reader) -> Build {
                                return [shape = reader.get("shape", Shape())](const Values& v) {
                                  return ops::reshape(v[0], shape);
                                };
                              }});
  table.emplace("transpose", Op{1, [](Reader& reader) -> Build {
                                  return [axes = reader.get("permutation", Integers())](const Values& v) {
                                    return ops::transpose(v[0], axes);
                                  };
                                }});
  table.emplace("broadcast", Op{1, [](Reader& reader) -> Build {
                                  return [shape = reader.get("shape", Shape())](const Values& v) {
                                    return broadcast_to(v[0], shape);
                                  };
                                }});
  table.emplace("concat", Op{-1, [](Reader& reader) -> Build {
                               return [axis = reader.get("axis", std::int64_t{0})](const Values& v) {
                                 return ops::concat(v, axis);
                               };
                             }});
  table.emplace("slice", Op{1, [](Reader& reader) -> Build {
                              return [starts = reader.get("starts", Integers()),
                                      sizes = reader.get("sizes", Integers())](const Values& v) {
                                return slice_to_end(v[0], starts, sizes);
                              };
                            }});
  table.emplace("pad", Op{1, [](Reader& reader) -> Build {
                            return [before = reader.get("before", Integers()), after = reader.get("after", Integers()),
                                    value = reader.get("value", 0.0)](const Values& v) {
                              return ops::pad(v[0], before, after, value);
                            };
                          }});
  table.emplace("gather", plain(ops::gather));
  table.emplace("take_along", Op{2, [](Reader& reader) -> Build {
                                   return [axis = reader.get("axis", std::int64_t{-1})](const Values& v) {
                                     return ops::take_along(v[0], v[1], axis);
                                   };
                                 }});
  table.emplace("scatter", Op{3, [](Reader& reader) -> Build {
                                return [options = scatter_options(reader)](const Values& v) {
                                  return ops::scatter(v[0], v[1], v[2], options);
                                };
                              }});
  table.emplace("cumulative", Op{1, [](Reader& reader) -> Build {
                                   return [options = cumulative_options(reader)](const Values& v) {
                                     return ops::cumulative(v[0], options);
                                   };
                                 }});
  // One sort makes both, if both are asked for.
  table.emplace("sort", Op{1, [](Reader& reader) -> Build {
                             return [options = sort_options(reader)](const Values& v) {
                               return ops::sort(v[0], options).values;
                             };
                           }});
  table.emplace("argsort", Op{1, [](Reader& reader) -> Build {
                                return [options = sort_options(reader)](const Values& v) {
                                  return ops::sort(v[0], options).indices;
                                };
                              }});
  table.emplace("one_hot", Op{1, [](Reader& reader) -> Build {
                                return [depth = reader.get("depth", std::int64_t{0}),
                                        dtype = reader.get("dtype", DType::float32)](const Values& v) {
                                  return ops::one_hot(v[0], depth, dtype);
                                };
                              }});
}

ops::RandomOptions random_options(Reader& reader) {
  return {.seed = reader.get("seed", std::int64_t{0}), .stream = reader.get("stream", std::int64_t{0})};
}

// The counter is an input, so that a call that is computed again draws the same numbers.
void add_random(OpTable& table) {
  table.emplace("dropout", Op{2, [](Reader& reader) -> Build {
                                return [rate = reader.get("rate", 0.5), options = random_options(reader)](
                                           const Values& v) { return ops::dropout(v[0], v[1], rate, options); };
                              }});
  using Draw = Value (*)(Value, const Shape&, double, double, const ops::RandomOptions&);
  const auto random = [](const char* first, const char* second, Draw op) {
    return Op{1, [=](Reader& reader) -> Build {
                return
                    [op, shape = reader.get("shape", Shape()), a = reader.get(first, 0.0), b = reader.get(second, 1.0),
                     options = random_options(reader)](const Values& v) { return op(v[0], shape, a, b, options); };
              }};
  };
  table.emplace("random_uniform", random("low", "high", ops::random_uniform));
  table.emplace("random_normal", random("mean", "deviation", ops::random_normal));
}

}  // namespace

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable all;
    add_elementwise(all);
    add_products(all);
    add_reductions_and_losses(all);
    add_shapes(all);
    add_random(all);
    return all;
  }();
  return table;
}

}  // namespace pando::python
