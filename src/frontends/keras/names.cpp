#include "frontends/keras/names.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <set>

namespace pando::keras {

std::string snake_case(const std::string& name) {
  const auto lower = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  const auto upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = i + 1 < name.size() && !upper(name[i + 1]) && name[i + 1] != '_';
    if (i > 0 && upper(name[i]) && (begins_word || lower(name[i - 1])) && name[i - 1] != '_') result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return result;
}

std::string pascal_case(const std::string& name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_') continue;
    const bool begins_word = i == 0 || name[i - 1] == '_';
    result += begins_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[i]))) : name[i];
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
  given.reserved.insert(name);
}

void check_choice(const std::string& who, const std::string& option, const std::string& value,
                  const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) == known.end())
    throw Error(fmt::format("{}: {}", who, unknown_name(option, value, known)));
}

}  // namespace pando::keras
