// SPDX-License-Identifier: Apache-2.0
// A region's first kernel in several sources that are compiled at once: a compiler uses one core for a source, and
// would take seconds for all phases of a large region. Phases that follow each other are a function of a further
// source, with the barriers between them; the kernel keeps the first ones and calls the functions, so that there are
// few calls. The division depends on the phases alone, so that every machine makes the same kernel.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "backends/cuda/regions/emitter.h"
#include "base/ascii.h"

namespace pando::cuda {

namespace {

// What NVRTC takes for a phase that begins so, in milliseconds. Only the balance between sources depends on it.
struct CompileTime {
  std::string_view name;
  int milliseconds;
};
constexpr CompileTime compile_times[] = {
    {"convolve", 110},
    {"convolve_and_pool", 110},
    {"convolve_at_once", 130},
    {"convolve_back", 60},
    {"spread_windows", 80},
    {"gather_windows", 45},
    {"sum_pooled_filter", 100},
    {"sum_filter", 50},
    {"multiply_row", 40},
    {"multiply_transposed", 40},
    {"sparse_cross_entropy", 35},
    {"cross_entropy", 35},
    {"softmax", 35},
    {"drop", 40},
    {"exchange_results", 30},
    {"pool_largest", 30},
    {"pool_largest_back", 30},
    {"finish_pooled_filter", 25},
    {"finish_columns", 25},
    {"stage", 6},
};
constexpr int other_milliseconds = 14;
// What a source should take, and how many there are at most: NVRTC reads one source at a time, and each begins with the
// same headers. A function saves registers of all its threads in memory, which takes about a microsecond of a step, so
// sources are as long as a second for all of them allows.
constexpr int milliseconds_of_source = 350;
constexpr std::size_t most_sources = 10;

int milliseconds_of(const std::string& phase) {
  const std::string_view name = std::string_view(phase).substr(0, phase.find_first_of("<( "));
  const auto found = std::find_if(std::begin(compile_times), std::end(compile_times),
                                  [&](const CompileTime& known) { return known.name == name; });
  return found != std::end(compile_times) ? found->milliseconds : other_milliseconds;
}

bool is_part_of_name(char c) { return ascii::is_letter_or_digit(c) || c == '_'; }

std::set<std::string> names_of(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t begin = i;
    while (i < text.size() && is_part_of_name(text[i])) ++i;
    if (i > begin) names.insert(text.substr(begin, i - begin));
  }
  return names;
}

// Where parts begin that take at most `limit` each, and where the last one ends.
std::vector<std::size_t> parts_of(const std::vector<int>& milliseconds, int limit) {
  std::vector<std::size_t> begins = {0};
  int sum = 0;
  for (std::size_t i = 0; i < milliseconds.size(); ++i) {
    if (sum + milliseconds[i] > limit && i > begins.back()) begins.push_back(i), sum = 0;
    sum += milliseconds[i];
  }
  begins.push_back(milliseconds.size());
  return begins;
}

}  // namespace

std::vector<std::size_t> Emitter::divide_phases() const {
  std::vector<int> milliseconds;
  for (const Phase& phase : phases_) milliseconds.push_back(milliseconds_of(phase.text));
  const int sum = std::accumulate(milliseconds.begin(), milliseconds.end(), 0);
  const std::size_t count = std::clamp<std::size_t>(
      static_cast<std::size_t>(sum + milliseconds_of_source / 2) / milliseconds_of_source, 1, most_sources);
  // The least that the longest part can take.
  int limit = sum / static_cast<int>(count);
  while (parts_of(milliseconds, limit).size() - 1 > count) ++limit;
  return parts_of(milliseconds, limit);
}

Emitter::Function Emitter::function_of(std::size_t begin, std::size_t end) const {
  const std::string phases = phases_text(begin, end);
  std::set<std::string> used = names_of(phases);
  std::string body;
  for (std::size_t i = 0; i < declarations_.size(); ++i)
    if (used.contains(fmt::format("o{}", i))) body += declarations_[i];
  body += phases;
  used = names_of(body);
  std::string parameters = "int sample", arguments = "sample", pointers;
  if (used.contains("cluster")) {
    parameters += ", int cluster";
    arguments += ", cluster";
  }
  for (std::size_t i = 0; i < pointers_.all.size(); ++i)
    if (used.contains(fmt::format("g{}", i))) {
      parameters += fmt::format(", Address a{}", i);
      arguments += fmt::format(", address_of(g{})", i);
      pointers += fmt::format("    char* const g{0} = pointer_to(a{0});\n", i);
    }
  const std::string prototype =
      fmt::format("PANDO_FUNCTION void phases_{}({} PANDO_MARKS_PARAMETER)", begin, parameters);
  return {prototype + ";\n", prototype + " {\n    PANDO_THIS_THREAD\n" + pointers + body + "}\n",
          fmt::format("    phases_{}({} PANDO_MARKS_ARGUMENT);\n", begin, arguments)};
}

std::vector<std::string> Emitter::sources() const {
  const std::vector<std::size_t> begins = divide_phases();
  std::vector<std::string> all;
  std::string prototypes, calls;
  for (std::size_t part = 1; part + 1 < begins.size(); ++part) {
    const Function function = function_of(begins[part], begins[part + 1]);
    all.push_back(placed(header() + function.definition));
    prototypes += function.prototype;
    calls += function.call;
  }
  all.push_back(placed(header() + prototypes + kernel(phases_text(0, begins[1]) + calls)));
  return all;
}

// The places in shared memory are known only after all phases.
std::string Emitter::placed(const std::string& text) const {
  std::string placed;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      placed += text[i];
      continue;
    }
    const std::size_t end = text.find('@', i + 1);
    placed += fmt::format("{}", storages_[std::stoul(text.substr(i + 1, end - i - 1))].offset);
    i = end;
  }
  return placed;
}

}  // namespace pando::cuda
