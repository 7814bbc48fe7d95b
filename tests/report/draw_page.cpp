// SPDX-License-Identifier: Apache-2.0
// Writes pages for look_at_page.py: draw_page full|sampled|long|profile PATH.
#include <pando/base/random.h>
#include <pando/report/report.h>

#include <cmath>
#include <string>

#include "report/profile/profile.h"

using namespace pando;

namespace {

// Two stages, three micro-batches, three tiles each.
Profile pipeline_profile() {
  using Kind = ProfileEvent::Kind;
  Profile profile{
      .model = "model",
      .devices = {"replica 0 stage 0", "replica 0 stage 1"},
      .memory = {{"replica 0 stage 0", {1 << 20, 3 << 20, 2 << 20}}, {"replica 0 stage 1", {900'000, 70'000}}}};
  for (int device = 0; device < 2; ++device)
    for (int i = 0; i < 6; ++i) {
      const bool forward = i < 3;
      const double begin = 120.0 * i + 60 * device;
      profile.events.push_back({.kind = forward ? Kind::forward : Kind::backward,
                                .device = device,
                                .micro_batch = i % 3,
                                .begin = begin,
                                .duration = 110});
      for (int tile = 0; tile < 3; ++tile) {
        profile.events.push_back({.device = device,
                                  .tile = tile,
                                  .op = forward ? "conv2d" : "conv2d_gradient",
                                  .name = forward ? "conv2d_1" : "conv2d_1/gradient",
                                  .layer = "conv2d_1",
                                  .begin = begin,
                                  .duration = 70.0 + 10 * tile});
        profile.events.push_back({.kind = Kind::barrier,
                                  .device = device,
                                  .tile = tile,
                                  .begin = begin + 70 + 10 * tile,
                                  .duration = 40.0 - 10 * tile});
      }
    }
  return profile;
}

// Scores of samples whose classes are mistaken for the next one now and then, and pictures of stripes.
void add_samples(report::Run& run, std::int64_t samples, std::int64_t classes) {
  run.labels = Array(DType::int32, {samples});
  run.probabilities = Array(DType::float32, {samples, classes});
  run.images = Array(DType::uint8, {samples, 28, 28, 1});
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t label = i % classes;
    run.labels.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(label);
    const bool wrong = i % 23 == 0 || (label == 3 && i % 7 == 0);
    run.probabilities.mutable_data<float>()[i * classes + (wrong ? (label + 5) % classes : label)] = 0.7f;
    for (std::int64_t pixel = 0; pixel < 28 * 28; ++pixel)
      run.images.mutable_data<std::uint8_t>()[i * 28 * 28 + pixel] =
          static_cast<std::uint8_t>(pixel * (label + 1) / 28 % 2 * 255);
  }
}

std::vector<double> falling_losses(int count) {
  std::vector<double> losses;
  for (int i = 0; i < count; ++i) losses.push_back(2 / (1 + 0.1 * i) + 0.1 * std::sin(i * 2.7));
  return losses;
}

report::Run full() {
  report::Run run{.title = "Digits on two stages",
                  .description = "60,000 images for training, 10,000 for the test.",
                  .headlines = {{"test accuracy", "98.93 %"},
                                {"test loss", "0.0341"},
                                {"training time", "24.6 s"},
                                {"samples a second", "7,317"}},
                  .facts = {{"Hyperparameters",
                             {{"optimizer", "adamw"}, {"learning rate", "0.002"}, {"batch size", "64"}, {"seed", "7"}}},
                            {"Where it comes from",
                             {{"command", "pando train keras-cnn --epochs 4 --stages 2 --report digits.html"},
                              {"page made", "2026-01-31 12:00:00 +0000"},
                              {"machine", "x86_64, 2 usable cores, 7.6 GiB of memory, Linux 6.1"}}}},
                  .curves = {{"loss", {0.61, 0.2, 0.11, 0.08}},
                             {"accuracy", {0.82, 0.94, 0.97, 0.98}},
                             {"val_loss", {0.3, 0.15, 0.1, 0.09}},
                             {"val_accuracy", {0.9, 0.95, 0.97, 0.975}}},
                  .loss_by_step = {.steps_each = 8, .values = falling_losses(469)},
                  .layers = {{"input_1", "InputLayer", "[(None, 28, 28, 1)]", 0},
                             {"conv2d", "Conv2D", "(None, 26, 26, 32)", 320},
                             {"dense", "Dense", "(None, 10)", 54090}},
                  .explanation =
                      "Model \"model\", training\n\nDevices      2 IPUs = 1 replica x 2 stages, 1 tile each, 2 "
                      "cores\nUpdate       512 samples = 64 x 8 accumulated x 1 replica (effective batch)\n",
                  .memory = {{"stage 0",
                              {{"weights", 75'000, "The parameters of the layers."},
                               {"gradients", 75'000, "Sums of gradients until the next update."},
                               {"activations", 9'000'000, "Values within a step."}}},
                             {"stage 1", {{"weights", 64'000}, {"gradients", 64'000}, {"activations", 2'000'000}}}},
                  .timeline = report::Timeline(std::make_shared<Profile>(pipeline_profile()))};
  add_samples(run, 1000, 10);
  return run;
}

// A run of which parts were recorded, and classes with names.
report::Run sampled() {
  report::Run run = full();
  run.class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                     "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Boot"};
  Profile profile;
  profile.devices = {"device"};
  profile.memory = {{"device", {1 << 20, 3 << 20, 2 << 20, 5 << 20, 1 << 18}}};
  const char* ops[] = {"conv2d", "matmul", "relu_gradient", "max_pool2d", "softmax",
                       "adam",   "bias",   "reduce_sum",    "cast"};
  for (int part = 0; part < 6; ++part) {
    const double start = part * 1e6;
    profile.recorded.push_back({start, start + 2.5e5});
    for (int i = 0; i < 90; ++i)
      for (int tile = 0; tile < 2; ++tile) {
        const double begin = start + i * 2700.0, duration = 2000.0 - 150 * (i % 9) + 40 * tile;
        profile.events.push_back({.tile = tile,
                                  .op = ops[i % 9],
                                  .name = ops[i % 9],
                                  .layer = i % 9 < 4 ? "conv2d_1" : "dense",
                                  .begin = begin,
                                  .duration = duration});
        profile.events.push_back(
            {.kind = ProfileEvent::Kind::barrier, .tile = tile, .begin = begin + duration, .duration = 300.0});
      }
  }
  run.timeline = report::Timeline(std::make_shared<Profile>(profile));
  return run;
}

// Unlikely names and numbers, and characters that mean something to a browser.
report::Run long_words() {
  const std::string word(90, 'w'), hostile = "</h1></script><script>throw 1</script>&\"'" + word;
  report::Run run{.title = hostile,
                  .description = hostile,
                  .headlines = {{hostile, word}, {"loss", "-nan"}},
                  .facts = {{hostile, {{hostile, word}, {word, hostile}}}},
                  .curves = {{hostile, {NAN, 1}}, {"val_" + word, {1e9, -1e9}}},
                  .layers = {{hostile, word, word, 123'456'789'012'345}},
                  .explanation = hostile + " " + word + "\n" + word,
                  .memory = {{hostile, {{hostile, 1}, {word, std::uint64_t{1} << 45}}}}};
  for (int i = 0; i < 30; ++i) run.class_names.push_back(hostile + std::to_string(i));
  add_samples(run, 600, 30);
  Profile profile = pipeline_profile();
  profile.devices = {hostile, word};
  for (ProfileEvent& event : profile.events) event.name = event.layer = hostile;
  profile.memory = {{hostile, {1}}};
  run.timeline = report::Timeline(std::make_shared<Profile>(profile));
  return run;
}

}  // namespace

int main(int, char** words) {
  const std::string which = words[1], path = words[2];
  if (which == "full") report::save(full(), path);
  else if (which == "sampled") report::save(sampled(), path);
  else if (which == "long") report::save(long_words(), path);
  else report::Timeline(std::make_shared<Profile>(pipeline_profile())).save(path);
}
