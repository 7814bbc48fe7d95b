// SPDX-License-Identifier: Apache-2.0
// How fast one core shuffles, gathers and normalises samples, against what training takes.
#include <pando/pando.h>

#include <sched.h>

#include <cstring>
#include <thread>

#include "measurement.h"
#include "models.h"
#include "model/batches.h"

namespace pando::limits {

namespace {

constexpr std::int64_t count = 60'000, batch = 32;
constexpr int rounds = 5;

// Runs on a separate thread that stays on one core, once for each round.
double samples_a_second_on_one_core(const Function<std::int64_t()>& pass) {
  std::vector<double> rates;
  std::thread([&] {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(sched_getcpu(), &core);
    sched_setaffinity(0, sizeof core, &core);
    for (int round = 0; round < rounds; ++round) {
      const auto start = Clock::now();
      const auto samples = static_cast<double>(pass());
      rates.push_back(samples / microseconds_since(start) * 1e6);
    }
  }).join();
  return median(std::move(rates));
}

// As a user of Dataset writes it.
double rate_of_dataset(const Array& images, const Array& labels) {
  const auto dataset =
      data::Dataset::from_tensor_slices({images, labels}).shuffle(count).batch(batch).map([](const data::Element& one) {
        return data::Element{one[0].astype(DType::float32) / 255.0, one[1]};
      });
  return samples_a_second_on_one_core([&] {
    std::int64_t samples = 0;
    for (const data::Element& element : dataset) samples += element[0].shape()[0];
    return samples;
  });
}

// What fit does with arrays; the model normalises.
double rate_of_arrays(const Array& images, const Array& labels) {
  std::vector<std::byte> x(static_cast<std::size_t>(batch * images.elements() / count)), y(batch);
  std::byte* const columns[] = {x.data(), y.data()};
  const auto batches = array_batches({images, labels}, batch, true);
  std::uint64_t key = 0;
  return samples_a_second_on_one_core([&] {
    batches->begin(++key);
    std::int64_t samples = 0;
    while (const std::int64_t taken = batches->next(batch, columns)) samples += taken;
    return samples;
  });
}

// The samples per second that `mlp` takes from a feed that costs nothing.
double rate_of_mlp(int tiles) {
  constexpr std::int64_t steps = 1000;
  const models::TrainingStep step = models::build("mlp");
  Program program(step.graph, Device({.tiles = tiles}), Variables());
  Feed feed(program, [](std::int64_t, std::span<std::byte* const>) { return true; });
  std::vector<double> rates;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    program.run(steps, feed);
    rates.push_back(static_cast<double>(step.batch * steps) / microseconds_since(start) * 1e6);
  }
  return median(std::move(rates));
}

}  // namespace

std::vector<Measurement> measure_feed() {
  Array images(DType::uint8, {count, 28, 28}), labels(DType::uint8, {count});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const double one_core = rate_of_mlp(1), all_cores = rate_of_mlp(0);
  const double dataset = rate_of_dataset(images, labels), arrays = rate_of_arrays(images, labels);
  return {{"Dataset on one core, against mlp on one", dataset, "samples/s", one_core, true},
          {"Dataset on one core, against mlp on all", dataset, "samples/s", all_cores, true},
          {"arrays of fit on one core, against mlp on one", arrays, "samples/s", one_core, true},
          {"arrays of fit on one core, against mlp on all", arrays, "samples/s", all_cores, true}};
}

}  // namespace pando::limits
