// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/commands.h"

namespace pando::cli {

namespace {

constexpr std::size_t columns = 79;
constexpr std::size_t most_head = 24;

// The words in lines that begin with `indent` blanks; the first has its head already.
std::string wrapped(const std::string& text, std::size_t indent, std::string line = "") {
  std::string lines, word;
  std::istringstream words(text);
  bool empty = true;
  while (words >> word) {
    if (!empty && line.size() + 1 + word.size() > columns) {
      lines += line + "\n";
      line.clear();
      empty = true;
    }
    if (empty) line.resize(std::max(line.size(), indent), ' ');
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  return lines + line + "\n";
}

// A head with its text next to it, or below it if the head is long.
std::string entry(const std::string& head, const std::string& text, std::size_t indent) {
  const std::string begin = "  " + head;
  if (begin.size() + 2 > indent) return begin + "\n" + wrapped(text, indent);
  return wrapped(text, indent, begin);
}

std::string head_of(const Option& option) {
  const std::string letter = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
  const std::string value = option.kind == Option::Kind::flag ? "" : " " + option.value;
  return fmt::format("{}--{}{}", letter, option.name, value);
}

std::string text_of(const Option& option) {
  return option.fallback.empty() ? option.help : fmt::format("{} (default: {})", option.help, option.fallback);
}

std::string paragraphs(const std::string& text) {
  std::string result, paragraph, line;
  const auto flush = [&] {
    if (!paragraph.empty()) result += wrapped(paragraph, 0);
    paragraph.clear();
  };
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    if (line.empty() || line.starts_with(' ')) {
      flush();
      result += line + "\n";
    } else {
      paragraph += line + " ";
    }
  }
  flush();
  return result;
}

}  // namespace

std::string usage_line(const std::string& command) {
  const Command* known = find_command(command);
  if (known == nullptr) return "usage: pando COMMAND [options]";
  return fmt::format("usage: pando {}{}{} [options]", known->name, known->arguments.empty() ? "" : " ",
                     known->arguments);
}

std::string help_text() {
  std::string text = usage_line("") + "\n\n" +
                     wrapped("Trains and runs neural networks on virtual IPUs made of the cores of this machine.", 0) +
                     "\nCommands:\n";
  for (const Command& command : commands()) text += entry(command.name, command.summary, 14);
  text += "\nOptions:\n";
  for (const Option& option : global_options()) text += entry(head_of(option), text_of(option), most_head);
  text += "\nExamples:\n";
  for (const Command& command : commands()) text += "  " + command.examples.front().line + "\n";
  text += "\nExit status:\n";
  for (const Described& status : exit_statuses()) text += entry(status.name, status.text, 7);
  return text;
}

std::string help_text(const Command& command) {
  std::string text = usage_line(command.name) + "\n\n" + paragraphs(command.description);
  for (const OptionGroup& group : command.groups) {
    text += fmt::format("\n{}:\n", group.title);
    for (const Option& option : group.options) text += entry(head_of(option), text_of(option), most_head);
  }
  text += "\nExamples:\n";
  for (const Example& example : command.examples) {
    text += "  " + example.line + "\n";
    if (!example.text.empty()) text += wrapped(example.text, 6);
  }
  return text;
}

}  // namespace pando::cli
