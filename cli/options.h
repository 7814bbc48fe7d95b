// SPDX-License-Identifier: Apache-2.0
// What a command line may say, as data: help, man page, completions and the parser read the same description.
#pragma once
#include <pando/base/function.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pando::cli {

class Arguments;

// The number that the text is; nothing if it is empty, holds anything else, or is too large.
template <class Number>
std::optional<Number> number_in(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Option {
  enum class Kind { flag, text, choice, whole, number, file, folder };

  // Without the dashes: "batch-size".
  std::string name;
  // 'q' if "-q" means the same; 0 if the option has no short form.
  char letter = 0;
  Kind kind = Kind::flag;
  // The placeholder of the value in the help: "N".
  std::string value = {};
  std::string help = {};
  // The value if the option is not given; empty if there is none.
  std::string fallback = {};
  // All values of a choice; for the other kinds, values that a shell offers.
  std::vector<std::string> choices = {};
  // For whole and other numbers; if `above` is set, a number must be above it.
  double smallest = 0;
  bool above = false;
  // For whole numbers; 0 means as large as can be written.
  std::int64_t largest = 0;
};

// Options under a heading.
struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

struct Example {
  std::string line;
  // What it does.
  std::string text;
};

// What a shell offers for a word that is not an option.
struct Offered {
  std::vector<std::string> words;
  bool files = false;
};

struct Command {
  std::string name;
  // "MODEL", "IMAGE..."; `description` says what the words that are not options mean.
  std::string arguments = {};
  int least_arguments = 0;
  // Any number if negative.
  int most_arguments = 0;
  // For each of them; the last is also for all after it.
  std::vector<Offered> offered = {};
  // "trains a model on images and tests it"
  std::string summary = {};
  // Paragraphs, separated by empty lines; lines that begin with a blank stay as they are.
  std::string description = {};
  std::vector<OptionGroup> groups = {};
  std::vector<Example> examples = {};
  // Returns the exit status.
  Function<int(const Arguments&)> run = {};

  // Null if there is none.
  const Option* find(const std::string& option) const;
  std::vector<Option> options() const;
};

// A mistake in the command line; `command` is empty before one is known, and where main() fills it in.
struct UsageError : std::runtime_error {
  UsageError(std::string command, const std::string& text) : runtime_error(text), command(std::move(command)) {}
  std::string command;
};

// What a command line said: checked values, and the words that are not options.
class Arguments {
 public:
  // "--option value", "--option=value" and "-o value"; if an option is given twice, the last one counts; words
  // after "--" are never options. Throws UsageError, naming the option, the value and what is allowed. The command must
  // outlive this.
  Arguments(const Command& command, const std::vector<std::string>& words);

  const std::string& command() const { return command_.name; }
  // The whole command line, for a shell.
  const std::string& line() const { return line_; }
  const std::vector<std::string>& words() const { return words_; }
  // All options that the command has.
  std::vector<Option> options() const { return command_.options(); }
  bool has(const std::string& option) const { return command_.find(option) != nullptr; }
  // Whether the user gave the option.
  bool given(const std::string& option) const { return values_.contains(option); }
  bool flag(const std::string& option) const { return given(option); }
  // The value, or the fallback.
  std::string text(const std::string& option) const;
  std::int64_t whole(const std::string& option) const;
  double number(const std::string& option) const;

  // For mistakes that only the command can detect.
  [[noreturn]] void fail(const std::string& text) const { throw UsageError(command_.name, text); }

 private:
  void set(const Option& option, const std::string& value);
  const Option& find_given(const std::string& name) const;

  const Command& command_;
  std::string line_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> words_;
};

}  // namespace pando::cli
