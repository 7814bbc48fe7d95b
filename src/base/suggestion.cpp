// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace pando {

namespace {

// Letters inserted, left out, replaced, or two neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// The runs of letters and digits of a name, without capitals.
std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (ascii::is_letter_or_digit(c)) parts.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!parts.back().empty()) parts.emplace_back();
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

std::string joined_parts(std::string_view name) { return join(name_parts(name), ""); }

// The known names that have all the parts, in this order.
std::vector<std::string> with_all_parts(const std::vector<std::string>& parts, const std::vector<std::string>& known) {
  std::vector<std::string> found;
  for (const std::string& name : known) {
    auto part = parts.begin();
    for (const std::string& of_name : name_parts(name))
      if (part != parts.end() && of_name == *part) ++part;
    if (part == parts.end() && !parts.empty()) found.push_back(name);
  }
  return found;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  std::string list = fmt::format("'{}'", names.front());
  for (std::size_t i = 1; i < names.size(); ++i)
    list += fmt::format("{}'{}'", i + 1 < names.size() ? ", " : " or ", names[i]);
  return fmt::format("did you mean {}?", list);
}

}  // namespace

std::string suggestion(std::string_view given, const std::vector<std::string>& known) {
  if (known.empty()) return "";
  const std::string bare = joined_parts(given);
  std::vector<std::size_t> distances;
  for (const std::string& name : known) distances.push_back(edit_distance(bare, joined_parts(name)));
  const auto smallest = std::min_element(distances.begin(), distances.end());
  const std::string& nearest = known[static_cast<std::size_t>(smallest - distances.begin())];
  if (*smallest <= 2) return did_you_mean({nearest});
  // Words that were left out make a name shorter, and a person does not confuse it with another of that length.
  if (const std::vector<std::string> longer = with_all_parts(name_parts(given), known);
      !longer.empty() && longer.size() <= 3)
    return did_you_mean(longer);
  if (*smallest <= bare.size() / 3) return did_you_mean({nearest});
  // The beginning of a name counts as near, however much is missing.
  for (const std::string& name : known)
    if (given.size() > 2 && name.starts_with(given)) return did_you_mean({name});
  return "";
}

}  // namespace pando
