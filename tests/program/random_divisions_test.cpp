// SPDX-License-Identifier: Apache-2.0
// However a step is divided, it trains the same model: to the bit with any number of stages, order of passes and
// timing; and within rounding as one device that has the samples of a whole update in one batch.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/machine/crowding.h"
#include "program/state.h"
#include "random_model.h"

namespace pando {
namespace {

constexpr std::int64_t updates = 3;

struct Trained {
  // All variables, and the losses of each micro-batch, or of each update.
  std::map<std::string, Array> variables;
  Array losses;
};

std::vector<Device> devices(int count) {
  static const Device device({.tiles = 1});
  return std::vector<Device>(static_cast<std::size_t>(count), device);
}

bool same_bits(const Array& a, const Array& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

void expect_equal_replicas(const Program& program, int replicas) {
  const Variables first = ProgramInside::variables_of_replica(program, 0);
  for (int replica = 1; replica < replicas; ++replica) {
    const Variables other = ProgramInside::variables_of_replica(program, replica);
    for (const std::string& name : other.names())
      EXPECT_TRUE(same_bits(first.get(name), other.get(name))) << name << " of replica " << replica;
  }
}

Trained train(const RandomModel& model, int stages, const Division& division) {
  Variables variables;
  model.set_variables(variables);
  const std::int64_t samples = division.batch_size, replicas = division.replicas;
  Program program(model.step(samples, stages), devices(stages * division.replicas), division, variables);
  const std::size_t ports = program.feeds().size();
  const std::int64_t rows = updates * division.accumulation;
  Feed feed(program, [&](std::int64_t row, std::span<std::byte* const> feeds) {
    for (std::int64_t r = 0; r < replicas; ++r)
      model.fill(program, (row * replicas + r) * samples, samples, feeds.data() + static_cast<std::size_t>(r) * ports);
    return true;
  });
  EXPECT_EQ(program.run({.rows = rows, .first_update = 5}, feed), rows);
  expect_equal_replicas(program, division.replicas);
  Trained trained;
  for (const std::string& name : variables.names()) trained.variables[name] = variables.get(name);
  trained.losses = program.output("loss");
  return trained;
}

void expect_same_bits(const Trained& a, const Trained& b) {
  for (const auto& [name, value] : a.variables) EXPECT_TRUE(same_bits(value, b.variables.at(name))) << name;
  EXPECT_TRUE(same_bits(a.losses, b.losses)) << "losses";
}

// Within 1e-5 of the norm.
void expect_close(const Array& a, const Array& b, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  double difference = 0, norm = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    difference += std::pow(a.data<float>()[i] - b.data<float>()[i], 2);
    norm += std::pow(a.data<float>()[i], 2);
  }
  EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(norm)) << what << " of norm " << std::sqrt(norm);
}

// Of an update, from those of its micro-batches.
Array added_up(const Array& losses) {
  Array sums(DType::float32, {updates});
  const std::int64_t group = losses.elements() / updates;
  for (std::int64_t update = 0; update < updates; ++update) {
    double sum = 0;
    for (std::int64_t i = 0; i < group; ++i) sum += losses.data<float>()[update * group + i];
    sums.mutable_data<float>()[update] = static_cast<float>(sum);
  }
  return sums;
}

// The samples of an update as one batch on one device. Statistics see that batch and are not compared.
void expect_as_on_one_device(const RandomModel& model, const Division& division, const Trained& trained) {
  const Trained whole = train(model, 1, {.batch_size = model.batch_size * division.replicas * division.accumulation});
  for (const auto& [name, value] : whole.variables)
    if (!name.starts_with("mean")) expect_close(value, trained.variables.at(name), name);
  expect_close(whole.losses, added_up(trained.losses), "losses");
}

TEST(RandomDivisions, TrainTheSameModel) {
  std::mt19937 random(20261116);
  const auto below = [&](std::uint32_t limit) { return static_cast<int>(random() % limit); };
  for (int repetition = 0; repetition < 30 && !testing::Test::HasFailure(); ++repetition) {
    const RandomModel model(random);
    Division division = {.replicas = 1 + below(3), .accumulation = 1 + below(4), .batch_size = model.batch_size};
    // One device with one micro-batch an update is not divided: its kernels are fused in other ways.
    const bool is_whole = division.replicas == 1 && division.accumulation == 1;
    SCOPED_TRACE(fmt::format("case {}: {} replicas, accumulation {}, {}", repetition, division.replicas,
                             division.accumulation, model.description()));
    std::optional<Trained> first;
    for (int stages = is_whole ? 2 : 1; stages <= 4; ++stages) {
      division.order = static_cast<PipelineOrder>(below(3));
      division.recomputation = below(2) == 0;
      Crowding::is_assumed = below(3) == 0;
      SCOPED_TRACE(fmt::format("{} stages, order {}{}{}", stages, static_cast<int>(division.order),
                               division.recomputation ? ", recomputation" : "",
                               Crowding::is_assumed ? ", one thread" : ""));
      const Trained trained = train(model, stages, division);
      if (first) expect_same_bits(*first, trained);
      else first = trained;
      if (stages == 2 && !model.depends_on_micro_batches()) expect_as_on_one_device(model, division, trained);
    }
  }
  Crowding::is_assumed = false;
}

}  // namespace
}  // namespace pando
