// SPDX-License-Identifier: Apache-2.0
// A soak: threads make, train, ask, save, load and drop models on shared devices.
//
//   soak SECONDS [THREADS]
//
// Every model begins with the same weights and sees the same data, so that what it becomes is known to the last bit: a
// model that ends otherwise, a file that does not hold it, a lost thread or descriptor, or memory that grows ends the
// program with status 1. Prints a line about every tenth of the time.
#include <pando/pando.h>

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

using namespace pando;
using namespace pando::keras;

namespace {

Array numbers(const Shape& shape, double factor) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * factor));
  return array;
}

// What a thread can do: a device and a way of training.
struct Way {
  const char* name;
  const char* device;  // empty: the host
  int stages;
};
constexpr Way ways[] = {{"host", "", 1},
                        {"one IPU", "/device:IPU:0", 1},
                        {"two replicas", "/device:IPU:1", 1},
                        {"two stages", "/device:IPU:1", 2}};

const Array& samples() {
  static const Array x = numbers({96, 8}, 1.7);
  return x;
}
const Array& targets() {
  static const Array y = numbers({96, 2}, 0.9);
  return y;
}

Sequential make_model_here(const Way& way) {
  Sequential model({layers::Dense(16, {.activation = "tanh", .input_shape = Shape{8}}), layers::Dense(2)});
  std::vector<Array> weights = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = numbers(weights[i].shape(), 0.3 + static_cast<double>(i));
  model.set_weights(weights);
  if (way.stages > 1) {
    model.set_pipeline_stage_assignment({0, 1});
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  }
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 4});
  return model;
}

Sequential make_model(const Way& way) {
  if (way.device[0] == '\0') return make_model_here(way);
  const ipu::IPUStrategy strategy(way.device);
  const auto scope = strategy.scope();
  return make_model_here(way);
}

void train(Sequential& model) {
  model.fit(samples(), targets(), {.batch_size = 8, .epochs = 2, .shuffle = false, .verbose = 0});
}

bool same_bits(const Array& a, const Array& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

std::atomic<std::int64_t> models = 0, failures = 0;

void expect(bool holds, const Way& way, const char* what) {
  if (holds) return;
  ++failures;
  fmt::print(stderr, "soak: {}: {}\n", way.name, what);
}

// What a model of each way predicts after its training, and one that all threads ask.
struct Known {
  std::vector<Array> predictions;
  Sequential shared;
};

void live_one_life(const Way& way, const Array& expected, Known& known, const std::string& folder) {
  Sequential model = make_model(way);
  train(model);
  expect(same_bits(model.predict(samples()), expected), way, "the model ended with other weights");
  expect(same_bits(known.shared.predict(samples()), known.predictions[0]), way, "the shared model predicted otherwise");
  model.save(folder);
  std::unique_ptr<Model> loaded = std::make_unique<Model>(load_model(folder));
  expect(same_bits(loaded->predict(samples()), model.predict(samples())), way, "the saved model is another one");
  auto asking = data::Dataset::from_tensor_slices({samples(), targets()})
                    .batch(8, {.drop_remainder = true})
                    .map([&](const data::Element& e) {
                      known.shared.predict(e[0]);
                      return e;
                    })
                    .prefetch(2);
  model.fit(asking, {.verbose = 0});
  ++models;
}

std::int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

std::int64_t entries_of(const char* folder) {
  const auto all = std::filesystem::directory_iterator(folder);
  return std::distance(begin(all), end(all));
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fputs("usage: soak SECONDS [THREADS]\n", stderr);
    return 2;
  }
  const auto length = std::chrono::seconds(std::atoi(words[1]));
  const int threads = count > 2 ? std::atoi(words[2]) : 8;
  ipu::IPUConfig config;
  config.auto_select_ipus = {1, 2};
  config.configure_ipu_system();
  std::string scratch = (std::filesystem::temp_directory_path() / "pando_soak.XXXXXX").string();
  if (mkdtemp(scratch.data()) == nullptr) return 2;

  Known known{{}, make_model(ways[0])};
  for (const Way& way : ways) {
    Sequential model = make_model(way);
    train(model);
    known.predictions.push_back(model.predict(samples()));
  }
  train(known.shared);
  const auto begin = std::chrono::steady_clock::now(), end = begin + length;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i)
    workers.emplace_back([&, i] {
      for (std::size_t life = static_cast<std::size_t>(i); std::chrono::steady_clock::now() < end; ++life)
        live_one_life(ways[life % std::size(ways)], known.predictions[life % std::size(ways)], known,
                      fmt::format("{}/{}", scratch, i));
    });
  // The first half fills caches and allocators; the memory that is resident then must be enough for the rest.
  std::int64_t early = 0;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    std::this_thread::sleep_until(begin + length * tenth / 10);
    if (tenth == 5) early = resident_kib();
    fmt::print("{:>3} %: {} models, {} failures, {} KiB resident, {} threads, {} descriptors\n", tenth * 10,
               models.load(), failures.load(), resident_kib(), entries_of("/proc/self/task"),
               entries_of("/proc/self/fd"));
    std::fflush(stdout);
  }
  for (std::thread& worker : workers) worker.join();
  std::filesystem::remove_all(scratch);
  const std::int64_t late = resident_kib();
  bool grew = late > early + early / 4 + 16 * 1024;
#ifdef PANDO_THREAD_SANITIZER
  // The thread sanitizer keeps what was freed.
  grew = false;
#endif
  if (grew) fmt::print(stderr, "soak: memory grew from {} to {} KiB\n", early, late);
  return failures == 0 && !grew && models > 0 ? 0 : 1;
}
