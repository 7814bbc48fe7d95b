// SPDX-License-Identifier: Apache-2.0
#include <pando/datasets/datasets.h>

#include <pando/report/plot.h>

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/samples.h"

namespace pando::cli {

namespace {

std::string place_of(const pando::datasets::Description& dataset) {
  if (dataset.is_drawn) return "drawn, needs no files";
  return dataset.folder.empty() ? "not on this machine" : dataset.folder;
}

int list_all(const Arguments& arguments) {
  Table table({"name", "to train on", "to test with", "pixels", "where"});
  Json list = Json::List();
  for (const pando::datasets::Description& dataset : pando::datasets::list()) {
    table.add({dataset.name, thousands(dataset.train), thousands(dataset.test),
               fmt::format("{} x {}", dataset.image[1], dataset.image[0]), place_of(dataset)});
    Json one, names = Json::List();
    for (const std::string& name : dataset.class_names) names.append(name);
    one.set("name", dataset.name);
    one.set("train", dataset.train);
    one.set("test", dataset.test);
    one.set("class_names", names);
    one.set("available", dataset.is_drawn || !dataset.folder.empty());
    one.set("folder", dataset.folder.empty() ? Json() : Json(dataset.folder));
    list.append(one);
  }
  if (!arguments.flag("json")) {
    print(table.text());
    return 0;
  }
  Json json;
  json.set("datasets", list);
  print_json(json);
  return 0;
}

// The data set `name` with the options of the command.
SampleChoice named(const Arguments& arguments, const std::string& name) {
  SampleChoice choice = sample_choice(arguments);
  choice.dataset = name;
  return choice;
}

// One line, or an object, about a data set that was read from front to back.
int read_all(const Arguments& arguments, const std::string& name) {
  const Samples samples = load_samples(named(arguments, name));
  if (arguments.flag("json")) {
    Json json;
    json.set("name", name);
    json.set("train", samples.kind.train);
    json.set("test", samples.kind.test);
    json.set("class_names", json_list(samples.kind.class_names));
    json.set("shape", json_list(samples.kind.shape));
    json.set("skipped", json_list(samples.skipped));
    json.set("ok", samples.skipped.empty());
    print_json(json);
    return 0;
  }
  print(fmt::format("{}: {} {}s to train on and {} to test with, {} classes, {}\n", name, thousands(samples.kind.train),
                    samples.kind.noun(), thousands(samples.kind.test), samples.kind.classes(),
                    samples.skipped.empty() ? "all can be read" : "the others can be read"));
  return 0;
}

int show(const Arguments& arguments, const std::string& name) {
  const std::string path = arguments.text("output");
  const std::int64_t count = arguments.whole("count");
  SampleChoice choice = named(arguments, name);
  choice.limit = count;
  const Samples samples = load_samples(choice);
  if (samples.kind.is_table())
    throw Error(fmt::format("{} has rows of numbers, which are not shown as a picture; give images", name));
  plot::image_grid(samples.train.x, samples.train.y, {.count = count, .names = samples.kind.class_names}).save(path);
  if (arguments.flag("json")) {
    Json json;
    json.set("name", name);
    json.set("output", path);
    print_json(json);
  } else {
    print(fmt::format("{} shows the first {} images of {}\n", path, samples.kind.train, name));
  }
  return 0;
}

}  // namespace

int datasets(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.words();
  const std::string action = words.empty() ? "list" : words[0];
  if (action != "show")
    for (const char* option : {"output", "count"})
      if (arguments.given(option)) tell(fmt::format("--{} has no effect on {}; it belongs to show.", option, action));
  if (action == "list") {
    if (words.size() > 1) arguments.fail(fmt::format("unexpected argument '{}'", words[1]));
    return list_all(arguments);
  }
  if (action != "fetch" && action != "verify" && action != "show")
    arguments.fail(unknown_name("action", action, {"list", "fetch", "verify", "show"}));
  if (words.size() < 2) arguments.fail(fmt::format("{} needs the name of a data set, or a folder", action));
  const bool is_known_absent = [&] {
    for (const pando::datasets::Description& dataset : pando::datasets::list())
      if (dataset.name == words[1]) return dataset.folder.empty() && !dataset.is_drawn;
    return false;
  }();
  if (action == "verify" && is_known_absent)
    throw Error(fmt::format("{} is not on this machine; 'pando datasets fetch {}' gets it", words[1], words[1]));
  return action == "show" ? show(arguments, words[1]) : read_all(arguments, words[1]);
}

}  // namespace pando::cli
