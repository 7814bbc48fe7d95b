// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <pando/base/error.h>

#include "base/suggestion.h"
#include "base/text.h"
#include "cli/output.h"

namespace pando::cli {

namespace {

// "a whole number of at least 1".
std::string wanted(const Option& option) {
  switch (option.kind) {
    case Option::Kind::choice: {
      const std::vector<std::string> first(option.choices.begin(), option.choices.end() - 1);
      return fmt::format("{} or {}", join(first, ", "), option.choices.back());
    }
    case Option::Kind::whole:
      return option.largest > 0 ? fmt::format("a whole number from {} to {}", option.smallest, option.largest)
                                : fmt::format("a whole number of at least {}", option.smallest);
    case Option::Kind::number:
      return fmt::format("a number {} {}", option.above ? "above" : "of at least", option.smallest);
    default: return "something";
  }
}

bool is_right(const Option& option, const std::string& value) {
  switch (option.kind) {
    case Option::Kind::choice:
      return std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end();
    case Option::Kind::whole: {
      const auto number = number_in<std::int64_t>(value);
      return number && static_cast<double>(*number) >= option.smallest &&
             (option.largest == 0 || *number <= option.largest);
    }
    case Option::Kind::number: {
      const auto number = number_in<double>(value);
      return number && std::isfinite(*number) &&
             (option.above ? *number > option.smallest : *number >= option.smallest);
    }
    default: return !value.empty();
  }
}

}  // namespace

const Option* Command::find(const std::string& option) const {
  for (const OptionGroup& group : groups)
    for (const Option& known : group.options)
      if (known.name == option) return &known;
  return nullptr;
}

std::vector<Option> Command::options() const {
  std::vector<Option> all;
  for (const OptionGroup& group : groups) all.insert(all.end(), group.options.begin(), group.options.end());
  return all;
}

Arguments::Arguments(const Command& command, const std::vector<std::string>& words)
    : command_(command), line_(program() + " " + command.name) {
  for (const std::string& word : words) line_ += " " + shell_word(word);
  bool options_ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty()) fail("an argument is empty; a variable of the shell may have no value");
    if (options_ended || !word.starts_with('-') || word == "-") {
      words_.push_back(word);
      continue;
    }
    if (word == "--") {
      options_ended = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const Option& option = find_given(word.substr(0, equals));
    if (option.kind == Option::Kind::flag) {
      if (equals != std::string::npos)
        fail(fmt::format("--{} takes no value, but has '{}'", option.name, word.substr(equals + 1)));
      values_[option.name] = "";
    } else if (equals != std::string::npos) {
      set(option, word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      set(option, words[++i]);
    } else {
      fail(fmt::format("--{} needs a value: --{} {}", option.name, option.name, option.value));
    }
  }
  const int count = static_cast<int>(words_.size());
  if (count < command.least_arguments)
    fail(fmt::format("{} is missing", command.arguments.substr(0, command.arguments.find(' '))));
  if (command.most_arguments >= 0 && count > command.most_arguments)
    fail(fmt::format("unexpected argument '{}'", words_[static_cast<std::size_t>(command.most_arguments)]));
}

const Option& Arguments::find_given(const std::string& name) const {
  std::vector<std::string> known;
  for (const OptionGroup& group : command_.groups)
    for (const Option& option : group.options) {
      known.push_back("--" + option.name);
      if (name == known.back() || (option.letter != 0 && name == std::string{'-', option.letter})) return option;
    }
  fail(unknown_name("option", name, known));
}

void Arguments::set(const Option& option, const std::string& value) {
  if (!is_right(option, value)) {
    const std::string suggested = option.kind == Option::Kind::choice ? suggestion(value, option.choices) : "";
    fail(fmt::format("--{} is '{}' but must be {}{}{}", option.name, value, wanted(option),
                     suggested.empty() ? "" : "; ", suggested));
  }
  values_[option.name] = value;
}

std::string Arguments::text(const std::string& option) const {
  const auto found = values_.find(option);
  if (found != values_.end()) return found->second;
  const Option* known = command_.find(option);
  if (known == nullptr) throw InternalError(fmt::format("{} has no option --{}", command_.name, option));
  return known->fallback;
}

std::int64_t Arguments::whole(const std::string& option) const {
  return number_in<std::int64_t>(text(option)).value_or(0);
}

double Arguments::number(const std::string& option) const { return number_in<double>(text(option)).value_or(0.0); }

}  // namespace pando::cli
