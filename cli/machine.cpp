// SPDX-License-Identifier: Apache-2.0
#include "cli/machine.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace pando::cli {

namespace {

// The first values of /proc/cpuinfo, by name.
const std::map<std::string, std::string>& processor_facts() {
  static const std::map<std::string, std::string> facts = [] {
    std::map<std::string, std::string> found;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos || colon + 2 > line.size()) continue;
      const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
      found.emplace(name, line.substr(colon + 2));
    }
    return found;
  }();
  return facts;
}

std::string fact(const std::string& name) {
  const auto found = processor_facts().find(name);
  return found == processor_facts().end() ? "" : found->second;
}

// Arm processors have numbers instead of a name.
std::string arm_name() {
  static const std::map<std::string, std::string> names = {
      {"0xd03", "Cortex-A53"},  {"0xd08", "Cortex-A72"},  {"0xd0b", "Cortex-A76"},  {"0xd0c", "Neoverse N1"},
      {"0xd40", "Neoverse V1"}, {"0xd49", "Neoverse N2"}, {"0xd4f", "Neoverse V2"}, {"0xd8e", "Neoverse N3"}};
  const std::string part = fact("CPU part");
  const auto found = names.find(part);
  if (found != names.end() && fact("CPU implementer") == "0x41") return found->second;
  return part.empty() ? "unknown" : fmt::format("Arm processor {} of {}", part, fact("CPU implementer"));
}

}  // namespace

std::string processor_name() {
  const std::string name = fact("model name");
  return name.empty() ? arm_name() : name;
}

int all_cores() { return static_cast<int>(std::thread::hardware_concurrency()); }

bool multiplies_bfloat16() {
  std::istringstream words(fact("flags") + " " + fact("Features"));
  for (std::string word; words >> word;)
    if (word == "avx512_bf16" || word == "amx_bf16" || word == "bf16") return true;
  return false;
}

}  // namespace pando::cli
