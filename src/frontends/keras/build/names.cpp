// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/build/names.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <set>

#include "base/ascii.h"

namespace pando::keras {

std::string snake_case(const std::string& name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = i + 1 < name.size() && !ascii::is_upper(name[i + 1]) && name[i + 1] != '_';
    if (i > 0 && ascii::is_upper(name[i]) && (begins_word || ascii::is_lower(name[i - 1])) && name[i - 1] != '_')
      result += '_';
    result += ascii::to_lower(name[i]);
  }
  return result;
}

std::string pascal_case(const std::string& name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_') continue;
    const bool begins_word = i == 0 || name[i - 1] == '_';
    result += begins_word ? ascii::to_upper(name[i]) : name[i];
  }
  return result;
}

namespace {

struct GivenNames {
  std::mutex mutex;
  std::map<std::string, int> counts;
  std::set<std::string> reserved;
};

GivenNames& given_names() {
  static GivenNames names;
  return names;
}

// Whether unique_name() has already passed the name, which then need not be remembered: a program may load models
// endlessly.
bool was_given(const GivenNames& given, const std::string& name) {
  const std::size_t line = name.rfind('_');
  int number = 0;
  std::string base = name;
  if (line != std::string::npos) {
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + line + 1, end, number);
    if (error == std::errc() && rest == end) base = name.substr(0, line);
    else number = 0;
  }
  const auto count = given.counts.find(base);
  return count != given.counts.end() && number < count->second;
}

}  // namespace

std::string unique_name(const std::string& base) {
  GivenNames& given = given_names();
  const std::lock_guard lock(given.mutex);
  for (;;) {
    const int before = given.counts[base]++;
    const std::string name = before == 0 ? base : fmt::format("{}_{}", base, before);
    if (!given.reserved.contains(name)) return name;
  }
}

void reserve_name(const std::string& name) {
  GivenNames& given = given_names();
  const std::lock_guard lock(given.mutex);
  if (!was_given(given, name)) given.reserved.insert(name);
}

void check_choice(const std::string& who, const std::string& option, const std::string& value,
                  const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) == known.end())
    throw Error(fmt::format("{}: {}", who, unknown_name(option, value, known)));
}

}  // namespace pando::keras
