#include "frontends/keras/run/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "data/pipeline/recipe.h"

namespace pando::keras {

namespace {

std::int64_t rows(const std::string& who, const Array& array) {
  row_type(who, array);
  return array.shape()[0];
}

std::string column_name(const SampleUse& use, std::size_t column) {
  const bool input = column < use.inputs;
  const std::size_t index = input ? column : column - use.inputs, count = input ? use.inputs : use.targets;
  return count == 1 ? (input ? "x" : "y") : fmt::format("{}[{}]", input ? "x" : "y", index);
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
  samples.passes = array_passes(columns, samples.batch_size, shuffle);
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
  const Json before = data::DatasetState::of(columns);
  auto first = std::make_shared<DatasetBatches>(use.who, columns);
  if (first->row_types().size() < weight)
    throw Error(fmt::format("{}: an element of the data set has {} columns but the model has {} inputs and {} outputs",
                            use.who, first->row_types().size(), use.inputs, use.targets));
  Samples samples;
  samples.columns = first->row_types();
  samples.batch_size = first->batch_size();
  const std::int64_t cardinality = dataset.cardinality();
  samples.steps = steps > 0 ? steps : cardinality >= 0 ? cardinality : -1;
  if (steps <= 0 && cardinality == data::Dataset::infinite)
    throw Error(fmt::format("{}: the data set repeats without end; say how many steps to take of it", use.who));
  samples.passes = dataset_passes(use.who, columns, steps > 0, std::move(first), before);
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

StepFeeder::StepFeeder(const Step& step, const Network& network, const std::vector<OutputGoals>& goals, Options options)
    : request_(step.request), options_(std::move(options)), counts_(std::make_shared<SampleCounts>()) {
  const std::vector<PortInfo> feeds = step.program.feeds();
  feeds_of_replica_ = feeds.size();
  const auto index_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < feeds.size(); ++i)
      if (feeds[i].name == name) return static_cast<int>(i);
    return -1;
  };
  const auto add = [&](const Type& sample, int feed, std::int64_t classes) {
    Column column{sample, feed, {}, classes};
    const auto bytes = static_cast<std::size_t>(sample.shape.elements()) * size_of(sample.dtype);
    if (feed < 0) column.scratch.resize(bytes * static_cast<std::size_t>(request_.batch_size));
    return column;
  };
  for (std::size_t i = 0; i < request_.inputs.size(); ++i)
    columns_.push_back(add(request_.inputs[i], index_of(input_feed(i)), 0));
  for (std::size_t i = 0; i < request_.targets.size(); ++i)
    columns_.push_back(add(request_.targets[i], index_of(target_feed(i)), classes_of(network.outputs[i], goals[i])));
  weights_ = add({DType::float32, {}}, index_of(weight_feed), 0);
  scale_feed_ = index_of(scale_feed);
}

std::byte* StepFeeder::memory(Column& column, std::span<std::byte* const> feeds) const {
  return column.feed < 0 ? column.scratch.data() : feeds[static_cast<std::size_t>(column.feed)];
}

void StepFeeder::weigh_classes(std::span<std::byte* const> feeds, std::int64_t count, float* weights) {
  Column& target = columns_[request_.inputs.size()];
  const std::byte* data = memory(target, feeds);
  const std::int64_t elements = target.type.shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    // The class is the number itself, or the place of the largest of a row.
    std::int64_t label = 0;
    if (elements == 1) label = static_cast<std::int64_t>(element_as_double(data, target.type.dtype, i));
    else
      for (std::int64_t j = 1; j < elements; ++j)
        if (element_as_double(data, target.type.dtype, i * elements + j) >
            element_as_double(data, target.type.dtype, i * elements + label))
          label = j;
    const auto found = options_.class_weight.find(label);
    if (found != options_.class_weight.end()) weights[i] *= static_cast<float>(found->second);
  }
}

// Returns the number of samples, 0 at the end of the data.
std::int64_t StepFeeder::take_batch(std::int64_t number, std::span<std::byte* const> feeds) {
  if (options_.steps >= 0 && number >= options_.steps) return 0;
  std::vector<std::byte*> places;
  for (Column& column : columns_) places.push_back(memory(column, feeds));
  if (options_.weighted) places.push_back(memory(weights_, feeds));
  const std::int64_t count = options_.source->next(request_.batch_size, places);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].classes > 0)
      check_label_range(options_.use, places[i], columns_[i].type.dtype, count * columns_[i].type.shape.elements(),
                        columns_[i].classes);
  return count;
}

// A batch is filled up with a real sample, the first of `example`, so that nothing unusual is computed; its weight is
// 0.
void StepFeeder::fill_up(std::int64_t count, std::span<std::byte* const> feeds, std::span<std::byte* const> example) {
  for (Column& column : columns_) {
    const auto bytes = static_cast<std::size_t>(column.type.shape.elements()) * size_of(column.type.dtype);
    for (std::int64_t row = count; row < request_.batch_size; ++row) {
      std::byte* place = memory(column, feeds) + static_cast<std::size_t>(row) * bytes;
      if (const std::byte* sample = memory(column, example); sample != place) std::memcpy(place, sample, bytes);
    }
  }
}

void StepFeeder::weigh(std::int64_t count, std::span<std::byte* const> feeds) {
  float* weights = reinterpret_cast<float*>(memory(weights_, feeds));
  if (!options_.weighted) std::fill_n(weights, count, 1.0f);
  std::fill(weights + count, weights + request_.batch_size, 0.0f);
  if (!options_.class_weight.empty()) weigh_classes(feeds, count, weights);
  const auto counted =
      static_cast<float>(std::count_if(weights, weights + request_.batch_size, [](float w) { return w != 0; }));
  const float scale = !options_.scale_by_samples ? 1.0f : counted > 0 ? 1.0f / counted : 0.0f;
  if (scale_feed_ >= 0) std::memcpy(feeds[static_cast<std::size_t>(scale_feed_)], &scale, sizeof scale);
}

bool StepFeeder::operator()(std::int64_t row, std::span<std::byte* const> feeds) {
  const std::span<std::byte* const> first = feeds.subspan(0, feeds_of_replica_);
  for (std::int64_t replica = 0; replica < options_.replicas; ++replica) {
    const auto own = feeds.subspan(static_cast<std::size_t>(replica) * feeds_of_replica_, feeds_of_replica_);
    const std::int64_t count = take_batch(row * options_.replicas + replica, own);
    if (replica == 0 && count == 0) return false;
    fill_up(count, own, first);
    weigh(count, own);
    counts_->add(count);
  }
  return true;
}

}  // namespace pando::keras
