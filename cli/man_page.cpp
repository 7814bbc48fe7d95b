// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <sstream>

#include "cli/commands.h"
#include "cli/help.h"

namespace pando::cli {

namespace {

// Characters that troff would interpret are marked as text.
std::string plain(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if (c == '\'') result += "\\(aq";
    else result += c;
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string option_entry(const Option& option) {
  const std::string value = option.kind == Option::Kind::flag ? "" : fmt::format(" \\fI{}\\fR", plain(option.value));
  const std::string fallback = option.fallback.empty() ? "" : fmt::format(" (default: {})", option.fallback);
  const std::string letter = option.letter == 0 ? "" : fmt::format("\\fB\\-{}\\fR, ", option.letter);
  return fmt::format(".TP\n{}\\fB\\-\\-{}\\fR{}\n{}\n", letter, plain(option.name), value,
                     plain(option.help + fallback));
}

// Paragraphs, and lines that stay as they are.
std::string description_of(const Command& command) {
  std::string text, line;
  bool literal = false;
  std::istringstream lines(command.description);
  while (std::getline(lines, line)) {
    const bool keeps = line.starts_with(' ');
    if (keeps != literal) text += keeps ? ".nf\n" : ".fi\n";
    literal = keeps;
    text += line.empty() ? ".PP\n" : plain(line) + "\n";
  }
  return text + (literal ? ".fi\n" : "");
}

std::string command_section(const Command& command) {
  std::string text = fmt::format(".SS pando {}{}{} [\\fIoptions\\fR]\n", command.name,
                                 command.arguments.empty() ? "" : " ", plain(command.arguments));
  text += description_of(command);
  for (const OptionGroup& group : command.groups) {
    text += fmt::format(".PP\n{}:\n", plain(group.title));
    for (const Option& option : group.options) text += option_entry(option);
  }
  return text;
}

std::string described(const std::vector<Described>& list) {
  std::string text;
  for (const Described& one : list) text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(one.name), plain(one.text));
  return text;
}

}  // namespace

std::string man_page(const std::string& version) {
  std::string text = fmt::format(".TH PANDO 1 \"\" \"Pando {}\" \"User Commands\"\n", version);
  text += ".SH NAME\npando \\- train and run neural networks on virtual IPUs\n";
  text += ".SH SYNOPSIS\n";
  for (const Command& command : commands())
    text += fmt::format(".B pando {}\n{}{}[\\fIoptions\\fR]\n.br\n", command.name, plain(command.arguments),
                        command.arguments.empty() ? "" : " ");
  text +=
      ".SH DESCRIPTION\n"
      "Trains and runs neural networks on virtual IPUs made of the cores of this machine. Results go to the standard\n"
      "output, everything else to the standard error stream. Values are given as \\fB\\-\\-option value\\fR or\n"
      "\\fB\\-\\-option=value\\fR.\n";
  text += ".SH OPTIONS\n";
  for (const Option& option : global_options()) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (const Command& command : commands()) text += command_section(command);
  text += ".SH EXAMPLES\n";
  for (const Command& command : commands())
    for (const Example& example : command.examples)
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(example.line),
                          plain(example.text.empty() ? command.summary : example.text));
  text += ".SH EXIT STATUS\n" + described(exit_statuses());
  text += ".SH ENVIRONMENT\n" + described(environment_variables());
  return text;
}

}  // namespace pando::cli
