// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "frontends/keras/run/held_types.h"

namespace pando::keras {

std::string column_name(const SampleUse& use, std::size_t column) {
  const bool input = column < use.inputs;
  const std::size_t index = input ? column : column - use.inputs, count = input ? use.inputs : use.targets;
  return count == 1 ? (input ? "x" : "y") : fmt::format("{}[{}]", input ? "x" : "y", index);
}

namespace {

std::int64_t rows(const std::string& who, const Array& array) {
  row_type(who, array);
  return array.shape()[0];
}

// "(28, 28)": a shape without the batch.
std::string sample_text(const Shape& shape) { return keras_shape(shape); }

void check_arrays(const std::string& who, const char* port, std::size_t ports, const char* name, std::size_t arrays,
                  const char* wanted) {
  const auto counted = [](std::size_t count, const char* what) {
    return count == 0 ? fmt::format("no {}s", what) : fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (arrays != ports)
    throw Error(fmt::format("{}: the model has {} but {} has {}; give {} for each {}", who, counted(ports, port), name,
                            counted(arrays, "array"), wanted, port));
}

Array checked_weights(const std::string& who, const Array& weights, std::int64_t count) {
  if (weights.elements() != count || weights.shape().rank() == 0 || weights.shape()[0] != count)
    throw Error(fmt::format("{}: sample_weight has shape {} but there are {} samples; give one number for each", who,
                            to_string(weights.shape()), count));
  return weights.astype(DType::float32).reshape({count});
}

}  // namespace

Samples samples_of(const SampleUse& use, const Arrays& x, const Arrays& y, const std::optional<Array>& sample_weight,
                   std::int64_t batch_size, bool shuffle) {
  const std::string& who = use.who;
  if (batch_size < 1) throw Error(fmt::format("{}: batch_size is {} but must be at least 1", who, batch_size));
  check_arrays(who, "input", use.inputs, "x", x.size(), "one array of samples");
  check_arrays(who, "output", use.targets, "y", y.size(), "one array of targets");
  Arrays columns = x;
  columns.insert(columns.end(), y.begin(), y.end());
  const std::int64_t count = rows(who, columns.front());
  for (std::size_t i = 1; i < columns.size(); ++i)
    if (rows(who, columns[i]) != count)
      throw Error(fmt::format("{}: {} has {} samples but {} has {}; each sample needs its target", who,
                              column_name(use, 0), count, column_name(use, i), rows(who, columns[i])));
  if (count == 0) throw Error(fmt::format("{}: x has no samples", who));
  if (sample_weight) columns.push_back(checked_weights(who, *sample_weight, count));

  Samples samples;
  for (const Array& column : columns) samples.columns.push_back(row_type(who, column));
  samples.batch_size = std::min(batch_size, count);
  samples.steps = (count + samples.batch_size - 1) / samples.batch_size;
  samples.count = count;
  samples.batches = array_batches(columns, samples.batch_size, shuffle);
  return samples;
}

Samples samples_of(const SampleUse& use, const data::Dataset& dataset, std::int64_t steps) {
  const std::size_t weight = use.inputs + use.targets;
  // Weights may come in any type; columns after them are ignored.
  const data::Dataset columns = dataset.map([weight, targets = use.targets](const data::Element& element) {
    if (element.size() <= weight || targets == 0)
      return data::Element(element.begin(),
                           element.begin() + static_cast<std::ptrdiff_t>(std::min(weight, element.size())));
    data::Element cast(element.begin(), element.begin() + static_cast<std::ptrdiff_t>(weight));
    cast.push_back(element[weight].astype(DType::float32));
    return cast;
  });
  const auto batches = std::make_shared<DatasetBatches>(use.who, columns, steps > 0);
  if (batches->row_types().size() < weight)
    throw Error(fmt::format("{}: an element of the data set has {} columns but the model has {} inputs and {} outputs",
                            use.who, batches->row_types().size(), use.inputs, use.targets));
  Samples samples;
  samples.columns = batches->row_types();
  samples.batch_size = batches->batch_size();
  const std::int64_t cardinality = dataset.cardinality();
  samples.steps = steps > 0 ? steps : cardinality >= 0 ? cardinality : -1;
  if (steps <= 0 && cardinality == data::Dataset::infinite)
    throw Error(fmt::format("{}: the data set repeats without end; say how many steps to take of it", use.who));
  samples.batches = batches;
  return samples;
}

bool has_weights(const SampleUse& use, const Samples& samples) {
  return samples.columns.size() > use.inputs + use.targets;
}

namespace {

void check_input(const SampleUse& use, std::size_t index, const Shape& given, const Tensor& input) {
  const Shape wanted = input.shape().part(1, input.shape().rank());
  if (given == wanted) return;
  Shape expanded = given;
  if (expanded.rank() < Shape::max_rank) expanded.append(1);
  throw Error(fmt::format("{}: the model's input '{}' takes samples of shape {} but {} has samples of shape {}; {}",
                          use.who, input.state().recording->name, sample_text(wanted), column_name(use, index),
                          sample_text(given),
                          expanded == wanted ? "use expand_dims(x, -1)" : "reshape the data or change the model"));
}

void check_target(const SampleUse& use, std::size_t index, const Shape& given, const Tensor& output,
                  const OutputGoals& goals) {
  const Shape wanted = output.shape().part(1, output.shape().rank());
  if (!goals.loss) return;
  const std::string name = column_name(use, use.inputs + index);
  if (goals.loss->takes_labels()) {
    const std::int64_t labels = wanted.rank() == 0 ? 1 : wanted.part(0, wanted.rank() - 1).elements();
    if (given.elements() != labels)
      throw Error(
          fmt::format("{}: the loss {} takes class numbers, {} for a sample, but {} has samples of shape {}; use "
                      "categorical_crossentropy for one-hot targets",
                      use.who, goals.loss->name(), labels, name, sample_text(given)));
    return;
  }
  if (goals.loss->targets() == losses::Targets::any) return;
  if (given == wanted || (given.elements() == 1 && wanted.elements() == 1)) return;
  const bool numbers = given.elements() == 1 && goals.loss->name() == "categorical_crossentropy";
  throw Error(
      fmt::format("{}: the loss {} takes targets of the shape of the output '{}', {}, but {} has samples of shape "
                  "{}; {}",
                  use.who, goals.loss->name(), goals.output, sample_text(wanted), name, sample_text(given),
                  numbers ? "use sparse_categorical_crossentropy, or keras::utils::to_categorical"
                          : "reshape the targets or change the model"));
}

std::int64_t classes_of(const Tensor& output, const OutputGoals& goals) {
  const Shape& shape = output.shape();
  return goals.loss && goals.loss->takes_labels() && shape.rank() > 1 ? shape[shape.rank() - 1] : 0;
}

double element_as_double(const std::byte* data, DType dtype, std::int64_t index) {
  const auto at = [&](auto example) {
    decltype(example) value;
    std::memcpy(&value, data + static_cast<std::size_t>(index) * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  switch (dtype) {
    case DType::float32: return at(float{});
    case DType::float64: return at(double{});
    case DType::int32: return at(std::int32_t{});
    case DType::int64: return at(std::int64_t{});
    default: return at(std::uint8_t{});
  }
}

void check_label_range(const SampleUse& use, const std::byte* labels, DType dtype, std::int64_t count,
                       std::int64_t classes) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double label = element_as_double(labels, dtype, i);
    if (std::isfinite(label) && label != std::floor(label))
      throw Error(
          fmt::format("{}: a label is {} but labels are the numbers of classes, whole numbers from 0 to {}; use a loss "
                      "such as mse for targets that are not",
                      use.who, label, classes - 1));
    if (!(label >= 0 && label < static_cast<double>(classes)))
      throw Error(fmt::format("{}: a label is {} but the model's output has {} classes, so labels must be 0 to {}",
                              use.who, label, classes, classes - 1));
  }
}

}  // namespace

void check_samples(const SampleUse& use, const Samples& samples, const Network& network,
                   const std::vector<OutputGoals>& goals) {
  for (std::size_t i = 0; i < use.inputs; ++i) check_input(use, i, samples.columns[i].shape, network.inputs[i]);
  for (std::size_t i = 0; i < use.targets; ++i)
    check_target(use, i, samples.columns[use.inputs + i].shape, network.outputs[i], goals[i]);
  if (has_weights(use, samples) && samples.columns.back().shape.elements() != 1)
    throw Error(fmt::format("{}: a sample of the data set has weights of shape {}; give one number for each sample",
                            use.who, sample_text(samples.columns.back().shape)));
}

void check_labels(const SampleUse& use, const Arrays& y, const Network& network,
                  const std::vector<OutputGoals>& goals) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (const std::int64_t classes = classes_of(network.outputs[i], goals[i]); classes > 0)
      check_label_range(use, y[i].raw(), y[i].dtype(), y[i].elements(), classes);
}

void check_class_weight(const SampleUse& use, const std::map<std::int64_t, double>& class_weight,
                        const Network& network, const std::vector<OutputGoals>& goals) {
  if (class_weight.empty()) return;
  if (goals.size() != 1)
    throw Error(fmt::format(
        "{}: class_weight is for models of one output but this one has {}; use sample_weight for its samples", use.who,
        goals.size()));
  // Targets of one number are classes 0 and 1, unless they are not classes at all.
  const Shape& shape = network.outputs[0].shape();
  const std::int64_t width = shape[shape.rank() - 1];
  const bool is_binary = width == 1 && goals[0].loss && goals[0].loss->name() == "binary_crossentropy";
  const std::int64_t classes = width > 1 ? width : is_binary ? 2 : std::numeric_limits<std::int64_t>::max();
  for (const auto& [label, weight] : class_weight)
    if (label < 0 || label >= classes)
      throw Error(fmt::format("{}: class_weight has a weight for class {} but {}", use.who, label,
                              width > 1 || is_binary
                                  ? fmt::format("the model's output has {} classes, 0 to {}", classes, classes - 1)
                                  : "classes are numbered from 0"));
}

namespace {

class CheckedBatches final : public BatchSource {
 public:
  CheckedBatches(const SampleUse& use, const Samples& samples, const Network& network,
                 const std::vector<OutputGoals>& goals, const std::map<std::int64_t, double>& class_weight)
      : use_(use),
        batches_(samples.batches),
        columns_(samples.columns),
        has_weights_(has_weights(use, samples)),
        class_weight_(class_weight),
        held_(use, samples.columns, network, goals) {
    for (std::size_t i = 0; i < use.targets; ++i) classes_.push_back(classes_of(network.outputs[i], goals[i]));
  }

  std::int64_t next(std::int64_t limit, std::span<std::byte* const> columns) override {
    return checked(batches_->next(limit, columns), columns);
  }
  std::int64_t upcoming(std::int64_t limit) override { return batches_->upcoming(limit); }
  // Targets that are looked at stay with the host.
  std::shared_ptr<const SampleTable> table_of(std::size_t column) const override {
    const bool is_target = column >= use_.inputs && column < use_.inputs + classes_.size();
    if (is_target && (classes_[column - use_.inputs] > 0 || !class_weight_.empty())) return nullptr;
    return batches_->table_of(column);
  }
  std::int64_t next_numbered(std::int64_t limit, std::span<std::byte* const> columns, std::int32_t* numbers) override {
    return checked(batches_->next_numbered(limit, columns, numbers), columns);
  }

 private:
  std::int64_t checked(std::int64_t count, std::span<std::byte* const> columns) const {
    for (std::size_t i = 0; i < use_.inputs + use_.targets; ++i) held_.check(i, columns[i], count);
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const Type& type = columns_[use_.inputs + i];
      if (const std::byte* labels = columns[use_.inputs + i]; labels != nullptr && classes_[i] > 0)
        check_label_range(use_, labels, type.dtype, count * type.shape.elements(), classes_[i]);
    }
    if (class_weight_.empty() || columns.back() == nullptr) return count;
    float* weights = reinterpret_cast<float*>(columns.back());
    if (!has_weights_) std::fill_n(weights, count, 1.0f);
    weigh_classes(columns[use_.inputs], count, weights);
    return count;
  }

  void weigh_classes(const std::byte* targets, std::int64_t count, float* weights) const {
    const auto& column = columns_[use_.inputs];
    const std::int64_t elements = column.shape.elements();
    const auto value = [&](std::int64_t index) { return element_as_double(targets, column.dtype, index); };
    for (std::int64_t i = 0; i < count; ++i) {
      // The class is the number itself, or the place of the largest of a row.
      std::int64_t label = elements == 1 ? static_cast<std::int64_t>(value(i)) : 0;
      for (std::int64_t j = 1; j < elements; ++j)
        if (value(i * elements + j) > value(i * elements + label)) label = j;
      const auto found = class_weight_.find(label);
      if (found != class_weight_.end()) weights[i] *= static_cast<float>(found->second);
    }
  }

  SampleUse use_;
  std::shared_ptr<BatchSource> batches_;
  std::vector<Type> columns_;
  bool has_weights_;
  std::map<std::int64_t, double> class_weight_;
  // For each target: the labels that the loss takes are below this; 0 if any are allowed.
  std::vector<std::int64_t> classes_;
  HeldTypes held_;
};

}  // namespace

std::shared_ptr<BatchSource> checked_batches(const SampleUse& use, const Samples& samples, const Network& network,
                                             const std::vector<OutputGoals>& goals,
                                             const std::map<std::int64_t, double>& class_weight) {
  return std::make_shared<CheckedBatches>(use, samples, network, goals, class_weight);
}

}  // namespace pando::keras
