// SPDX-License-Identifier: Apache-2.0
// What the runs of all styles share: a name with a function, the hash of what was computed, data and IPUs.
#pragma once
#include <pando/pando.h>

#include <functional>
#include <string>
#include <vector>

namespace bits {

using namespace pando;
namespace layers = pando::keras::layers;
namespace optimizers = pando::keras::optimizers;
namespace nn = pando::torch::nn;
namespace tf = pando::tf1;
using data::Dataset;
using ipu::GradientReduction;
using ipu::pipelining_ops::PipelineSchedule;
using poptorch::OutputMode;

// FNV-1a of 64 bits.
class Hash {
 public:
  Hash& add(const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      value_ = (value_ ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3U;
    return *this;
  }
  Hash& add(double number) { return add(&number, sizeof number); }
  Hash& add(const std::string& text) { return add(text.data(), text.size()).add(0.0); }
  Hash& add(const Array& array) {
    add(std::string(name(array.dtype())) + to_string(array.shape()));
    return add(array.raw(), array.bytes());
  }
  Hash& add(const std::vector<Array>& arrays) {
    for (const Array& array : arrays) add(array);
    return *this;
  }
  Hash& add(const keras::Logs& logs) {
    for (const auto& [name, value] : logs) add(name).add(value);
    return *this;
  }
  Hash& add(const keras::History& history) {
    for (const std::int64_t epoch : history.epochs()) add(static_cast<double>(epoch));
    for (const auto& [name, values] : history) {
      add(name);
      for (const double value : values) add(value);
    }
    return *this;
  }
  Hash& add(const nn::StateDict& values) {
    for (const auto& [name, value] : values) add(name).add(value);
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

// Each case gets its own seed, no IPUs and an empty graph of TensorFlow 1.
struct Run {
  std::string name;
  std::function<Hash()> train;
};
using Runs = std::vector<Run>;

inline constexpr int classes = 3;

// From -1 to 1, exact in a float.
inline float noise(std::int64_t index) {
  auto bits = static_cast<std::uint32_t>(index + 1) * 2654435761U;
  bits = (bits ^ (bits >> 15)) * 2246822519U;
  return static_cast<float>((bits >> 8) & 0xffffU) / 32768.0F - 1.0F;
}

inline Array noise_array(const Shape& shape, std::int64_t first = 0, float scale = 1.0F) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) array.mutable_data<float>()[i] = noise(first + i) * scale;
  return array;
}

struct Data {
  Array x, y;
  Data part(std::int64_t first, std::int64_t last) const { return {x.slice(first, last), y.slice(first, last)}; }
};

// Samples of this shape and of three kinds, which can be learnt.
inline Data samples(std::int64_t count, const Shape& shape) {
  Shape all{count};
  for (const std::int64_t size : shape) all.append(size);
  Data data{noise_array(all), Array(DType::int32, {count})};
  const std::int64_t size = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::int32_t>(i * 7 % classes);
    data.y.mutable_data<std::int32_t>()[i] = kind;
    for (std::int64_t j = kind; j < size; j += classes) data.x.mutable_data<float>()[i * size + j] += 0.5F;
  }
  return data;
}

inline Data vectors(std::int64_t count = 100) { return samples(count, {10}); }
inline Data images(std::int64_t count = 100) { return samples(count, {8, 8, 1}); }

inline void configure(int ipus, int tiles) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = tiles;
  config.configure_ipu_system();
}

inline Runs joined(const std::vector<Runs>& lists) {
  Runs all;
  for (const Runs& runs : lists) all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

// The runs of each style.
Runs keras_runs();
Runs keras_ipu_runs();
Runs keras_checkpoint_runs();
Runs poptorch_runs();
Runs tf1_runs();

}  // namespace bits
