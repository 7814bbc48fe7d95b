// SPDX-License-Identifier: Apache-2.0
#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/trained_model.h"
#include "cli/virtual_ipus.h"

namespace pando::cli {

namespace {

// How the samples of a class were classified.
struct ClassCount {
  std::int64_t samples = 0, right = 0;
  // How often they were taken for each class.
  std::vector<std::int64_t> taken_for;

  // The wrong class that was named most often; negative if none was.
  std::int64_t most_confused(std::int64_t self) const {
    std::int64_t most = -1;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(taken_for.size()); ++i) {
      const std::int64_t count = taken_for[static_cast<std::size_t>(i)];
      if (i != self && count > (most < 0 ? 0 : taken_for[static_cast<std::size_t>(most)])) most = i;
    }
    return most;
  }
};

std::vector<ClassCount> count_classes(const Array& labels, const Array& guesses, std::int64_t classes) {
  std::vector<ClassCount> counts(static_cast<std::size_t>(classes));
  for (ClassCount& count : counts) count.taken_for.resize(counts.size());
  const Array wanted = labels.astype(DType::int64);
  for (std::int64_t i = 0; i < wanted.elements(); ++i) {
    const std::int64_t label = wanted.data<std::int64_t>()[i], guess = guesses.data<std::int64_t>()[i];
    ClassCount& count = counts[static_cast<std::size_t>(label)];
    ++count.samples;
    count.right += label == guess;
    ++count.taken_for[static_cast<std::size_t>(guess)];
  }
  return counts;
}

void check_classes(const TrainedModel& trained, const Samples& samples, std::int64_t outputs) {
  if (samples.kind.classes() > outputs)
    throw Error(fmt::format("{} has {} classes, but the model '{}' tells {} apart; use a data set with its classes",
                            samples.kind.dataset, samples.kind.classes(), trained.opened.model.name(), outputs));
}

double part(std::int64_t some, std::int64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
}

std::string table_of(const std::vector<ClassCount>& counts, const SampleKind& kind) {
  const std::vector<std::string>& names = kind.class_names;
  Table table({"class", std::string(kind.noun()) + "s", "right", "most often taken for"});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t other = counts[i].most_confused(static_cast<std::int64_t>(i));
    const std::string wrong = other < 0 ? ""
                                        : fmt::format("{} ({})", names[static_cast<std::size_t>(other)],
                                                      thousands(counts[i].taken_for[static_cast<std::size_t>(other)]));
    table.add({names[i], thousands(counts[i].samples),
               counts[i].samples == 0 ? "-" : percent(part(counts[i].right, counts[i].samples)), wrong});
  }
  return table.text();
}

Json json_of(const std::vector<ClassCount>& counts, const std::vector<std::string>& names) {
  Json list = Json::List();
  for (std::size_t i = 0; i < names.size(); ++i) {
    Json one, taken = Json::List();
    for (std::int64_t count : counts[i].taken_for) taken.append(count);
    one.set("class", names[i]);
    one.set("samples", counts[i].samples);
    one.set("right", counts[i].right);
    one.set("taken_for", taken);
    list.append(one);
  }
  return list;
}

}  // namespace

int evaluate(const Arguments& arguments) {
  if (!arguments.given("model")) arguments.fail("--model is missing: --model DIR names the trained model");
  const int replicas = arguments.given("ipus") ? static_cast<int>(arguments.whole("ipus")) : 1;
  const VirtualIpus ipus(replicas, static_cast<int>(arguments.whole("tiles")), backend_of(arguments));
  TrainedModel trained = load_trained(arguments.text("model"));
  SampleChoice choice = sample_choice(arguments);
  if (choice.dataset.empty()) choice.dataset = trained.kind.dataset;
  if (choice.dataset.empty())
    arguments.fail("--dataset is missing: the model does not say which data it was trained on");
  const Samples samples = load_to_test(choice, trained.kind);
  const TrainingRecipe recipe = {.batch_size = arguments.whole("batch-size")};
  prepare_training(trained.opened, {.ipus = replicas, .replicas = replicas}, recipe);

  const Array x = as_input(trained.opened, samples.test.x);
  const Array guesses = argmax(trained.opened.model.predict(x, {.batch_size = recipe.batch_size}), -1);
  const std::int64_t outputs = trained.opened.model.predict(x.slice(0, 1)).shape()[1];
  check_classes(trained, samples, outputs);
  const keras::Logs logs =
      trained.opened.model.evaluate(x, samples.test.y, {.batch_size = recipe.batch_size, .verbose = 0});
  const std::vector<ClassCount> counts = count_classes(samples.test.y, guesses, outputs);
  if (arguments.flag("json")) {
    Json json;
    json.set("model", arguments.text("model"));
    json.set("dataset", choice.dataset);
    json.set("samples", samples.kind.test);
    json.set("sample_shape", json_list(samples.kind.shape));
    json.set("skipped", json_list(samples.skipped));
    for (const auto& [name, value] : logs) json.set(name, value);
    json.set("classes", json_of(counts, samples.kind.class_names));
    print_json(json);
    return 0;
  }
  print(fmt::format("{} {}{} of {}: loss {:.4f}, accuracy {}\n\n", thousands(samples.kind.test), samples.kind.noun(),
                    samples.kind.test == 1 ? "" : "s", choice.dataset, logs["loss"], percent(logs["accuracy"])));
  print(table_of(counts, samples.kind));
  return 0;
}

}  // namespace pando::cli
