// SPDX-License-Identifier: Apache-2.0
// A region's first kernel in several sources that are compiled at once: a compiler uses one core for a source, and
// would take seconds for all phases of a large region. Phases that take long to compile become functions of further
// sources. The kernel keeps those that take least, as a call takes part of the time of a short phase. The division
// depends on the phases alone, so that every machine makes the same kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include "backends/cuda/regions/emitter.h"

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
// What the kernel's source should take, which is the first to be read, and what others should. There are not many:
// NVRTC reads one source at a time, and each begins with the same headers.
constexpr int most_of_kernel = 200, most_milliseconds = 150;
constexpr std::ptrdiff_t most_sources = 10;

int milliseconds_of(const std::string& phase) {
  const std::string_view name(phase.data(), phase.find_first_of("<( "));
  const auto found = std::find_if(std::begin(compile_times), std::end(compile_times),
                                  [&](const CompileTime& known) { return known.name == name; });
  return found != std::end(compile_times) ? found->milliseconds : other_milliseconds;
}

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::set<std::string> names_of(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t begin = i;
    while (i < text.size() && is_part_of_name(text[i])) ++i;
    if (i > begin) names.insert(text.substr(begin, i - begin));
  }
  return names;
}

}  // namespace

void Emitter::move_to_function(Phase& phase, std::size_t number, std::string& source) {
  std::set<std::string> used = names_of(phase.text);
  std::string body, pointers;
  for (std::size_t i = 0; i < declarations_.size(); ++i)
    if (used.contains(fmt::format("o{}", i))) body += declarations_[i];
  body += "    " + phase.text + ";\n";
  used = names_of(body);
  std::string parameters = "Thread t", arguments = "t";
  for (const char* name : {"sample", "cluster"})
    if (used.contains(name)) {
      parameters += fmt::format(", int {}", name);
      arguments += fmt::format(", {}", name);
    }
  for (std::size_t i = 0; i < pointers_.all.size(); ++i)
    if (used.contains(fmt::format("g{}", i))) {
      parameters += fmt::format(", Address a{}", i);
      arguments += fmt::format(", address_of(g{})", i);
      pointers += fmt::format("    char* const g{0} = pointer_to(a{0});\n", i);
    }
  const std::string function = fmt::format("PANDO_FUNCTION void phase_{}({})", number, parameters);
  prototypes_ += function + ";\n";
  source += function + " {\n" + pointers + body + "}\n";
  phase.text = fmt::format("phase_{}({})", number, arguments);
}

void Emitter::divide_phases() {
  std::vector<int> milliseconds;
  for (const Phase& phase : phases_) milliseconds.push_back(milliseconds_of(phase.text));
  std::vector<std::size_t> order(phases_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return milliseconds[a] < milliseconds[b]; });
  std::size_t kept = 0;
  for (int sum = 0; kept < order.size(); ++kept)
    if (sum += milliseconds[order[kept]]; sum > most_of_kernel) break;
  int rest = 0;
  for (std::size_t i = kept; i < order.size(); ++i) rest += milliseconds[order[i]];
  const auto count = std::min<std::ptrdiff_t>((rest + most_milliseconds - 1) / most_milliseconds, most_sources);
  struct Source {
    int milliseconds = 0;
    std::string text;
  };
  std::vector<Source> sources(static_cast<std::size_t>(count));
  const auto takes_less = [](const Source& a, const Source& b) { return a.milliseconds < b.milliseconds; };
  // The longest first, each where least is.
  for (std::size_t i = order.size(); i-- > kept;) {
    Source& source = *std::min_element(sources.begin(), sources.end(), takes_less);
    move_to_function(phases_[order[i]], order[i], source.text);
    source.milliseconds += milliseconds[order[i]];
  }
  for (const Source& source : sources) functions_.push_back(source.text);
}

std::vector<std::string> Emitter::sources() const {
  std::vector<std::string> all;
  for (const std::string& functions : functions_) all.push_back(placed(header() + functions));
  all.push_back(placed(header() + prototypes_ + kernel()));
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
