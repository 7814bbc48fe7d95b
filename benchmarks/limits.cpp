// SPDX-License-Identifier: Apache-2.0
// What a training step costs in addition to its arithmetic, each measurement against its limit: overheads, the feed,
// memory.
//
//   limits [--json FILE] [overhead] [feed] [memory]
//
// The status is 1 if a limit does not hold. Needs MNIST (scripts/fetch_data.sh).
#include "measurement.h"

#include <pando/base/error.h>
#include <pando/base/function.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "io/json.h"

namespace pando::limits {

std::vector<double> numbers_of_fresh_process(const std::string& argument) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::FILE* pipe = popen(fmt::format("exec '{}' {}", program, argument).c_str(), "r");
  if (pipe == nullptr) throw Error("cannot start '" + program + "' again");
  std::vector<double> numbers;
  for (double number = 0; std::fscanf(pipe, "%lf", &number) == 1;) numbers.push_back(number);
  if (pclose(pipe) != 0) throw Error(fmt::format("'{} {}' failed; it says why", program, argument));
  return numbers;
}

namespace {

struct Section {
  std::string name;
  Function<std::vector<Measurement>()> measure;
};

const std::vector<Section>& sections() {
  static const std::vector<Section> list = {
      {"overhead", measure_overhead}, {"feed", measure_feed}, {"memory", measure_memory}};
  return list;
}

void print(const Measurement& row) {
  fmt::print("{:<58}{:>12.2f} {:<10}{:>3}{:>12.2f}   {}\n", row.what, row.value, row.unit,
             row.at_least ? ">=" : "<=", row.limit, row.holds() ? "holds" : "DOES NOT HOLD");
  std::fflush(stdout);
}

Json json_of(const std::string& section, const Measurement& row) {
  return Json::Object{{"section", section}, {"what", row.what},         {"value", row.value},  {"unit", row.unit},
                      {"limit", row.limit}, {"at_least", row.at_least}, {"holds", row.holds()}};
}

int run(const std::vector<std::string>& names, const std::string& json) {
  bool all_hold = true;
  Json rows = Json::List{};
  for (const Section& section : sections()) {
    if (!names.empty() && std::find(names.begin(), names.end(), section.name) == names.end()) continue;
    for (const Measurement& row : section.measure()) {
      print(row);
      rows.append(json_of(section.name, row));
      all_hold = all_hold && row.holds();
    }
  }
  if (!json.empty() && !(std::ofstream(json) << rows.text(1) << '\n').flush())
    throw Error("cannot write '" + json + "'");
  return all_hold ? 0 : 1;
}

int usage() {
  std::cerr << "usage: limits [--json FILE] [overhead] [feed] [memory]\n";
  return 2;
}

}  // namespace
}  // namespace pando::limits

int main(int argc, char** argv) {
  using namespace pando::limits;
  std::vector<std::string> names;
  std::string json;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--first-step") return print_first_step(), 0;
      if (word == "--memory-of-training") return print_memory(), 0;
      if (word == "--json" && i + 1 < argc) {
        json = argv[++i];
      } else {
        const auto same = [&](const Section& section) { return section.name == word; };
        if (std::none_of(sections().begin(), sections().end(), same)) return usage();
        names.push_back(word);
      }
    }
    return run(names, json);
  } catch (const pando::Error& error) {
    std::cerr << "limits: " << error.what() << "\n";
    return 1;
  }
}
