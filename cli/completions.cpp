// SPDX-License-Identifier: Apache-2.0
#include <pando/base/error.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"

namespace pando::cli {

namespace {

using Kind = Option::Kind;

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  return names;
}

bool takes_path(const Option& option) { return option.kind == Kind::file || option.kind == Kind::folder; }

// Adds the option that every command has.
std::vector<Option> options_of(const Command& command) {
  std::vector<Option> options = command.options();
  options.push_back({.name = "help", .letter = 'h', .help = "everything about the command"});
  return options;
}

// The text in single quotes for a shell.
std::string single_quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string bash_words(const std::vector<std::string>& words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")", join(words, " "));
}

// Appends to the words that are offered already.
std::string bash_paths(bool folders) {
  return fmt::format("compopt -o filenames; mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -{} -- \"$word\")",
                     folders ? "d" : "f");
}

// What bash offers for words that are not options. Their number is that of all words: actions come before options.
std::string bash_offers(const Command& command) {
  std::string text = "case $((COMP_CWORD - 1)) in";
  for (std::size_t i = 0; i < command.offered.size(); ++i) {
    const Offered& offered = command.offered[i];
    text += fmt::format(" {}) {}{} ;;", i + 1 < command.offered.size() ? fmt::format("{}", i + 1) : "*",
                        bash_words(offered.words), offered.files ? "; " + bash_paths(false) : "");
  }
  return text + " esac";
}

// What bash offers after an option that takes a value; nothing if it cannot know.
std::string bash_values(const Option& option) {
  std::vector<std::string> actions;
  if (!option.choices.empty()) actions.push_back(bash_words(option.choices));
  if (takes_path(option)) actions.push_back(bash_paths(option.kind == Kind::folder));
  return actions.empty() ? "" : join(actions, "; ") + "; ";
}

std::string bash_completions() {
  std::vector<std::string> first = command_names();
  for (const Option& option : global_options()) first.push_back("--" + option.name);
  std::string text =
      "# shellcheck shell=bash\n"
      "# Completions of pando for bash; made by 'pando --completions bash'.\n"
      "_pando() {\n"
      "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
      "    COMPREPLY=()\n";
  text += fmt::format("    ((COMP_CWORD > 1)) || {{ {}; return; }}\n", bash_words(first));
  text += "    case \"$command $before\" in\n";
  for (const Option& option : global_options())
    if (option.kind != Kind::flag)
      text += fmt::format("        '--{0} --{0}') {1}return ;;\n", option.name, bash_values(option));
  for (const Command& command : commands())
    for (const Option& option : command.options())
      if (option.kind != Kind::flag)
        text += fmt::format("        '{0} --{1}'{2}) {3}return ;;\n", command.name, option.name,
                            option.letter == 0 ? "" : fmt::format(" | '{} -{}'", command.name, option.letter),
                            bash_values(option));
  text += "    esac\n    case \"$command\" in\n";
  for (const Command& command : commands()) {
    std::vector<std::string> options;
    for (const Option& option : options_of(command)) options.push_back("--" + option.name);
    text += fmt::format("        {})\n            if [[ $word == -* ]]; then {}; return; fi\n            {} ;;\n",
                        command.name, bash_words(options), bash_offers(command));
  }
  return text + "    esac\n}\ncomplete -F _pando pando\n";
}

// What zsh does for a value or an argument.
std::string zsh_action(const std::vector<std::string>& choices, bool files, bool folders) {
  const std::string paths = folders ? "_files -/" : "_files";
  if (choices.empty()) return files || folders ? paths : " ";
  const std::string words = join(choices, " ");
  return files || folders ? fmt::format("{{compadd -- {}; {}}}", words, paths) : fmt::format("({})", words);
}

// Colons and brackets mean something in the descriptions that zsh reads.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (char c : text) result += c == ':' || c == '[' || c == ']' ? fmt::format("\\{}", c) : std::string(1, c);
  return result;
}

// With "--name" or "-n".
std::string zsh_option(const Option& option, const std::string& name) {
  std::string spec = fmt::format("{}{}[{}]", name,
                                 option.kind == Kind::flag ? ""
                                 : name.starts_with("--")  ? "="
                                                           : "+",
                                 zsh_text(option.help));
  if (option.kind != Kind::flag)
    spec += fmt::format(":{}:{}", option.value,
                        zsh_action(option.choices, option.kind == Kind::file, option.kind == Kind::folder));
  return single_quoted(spec);
}

// Each on a line that begins with `indent`.
std::string zsh_options(const std::vector<Option>& options, const std::string& indent) {
  std::string text;
  for (const Option& option : options) {
    text += " \\\n" + indent + zsh_option(option, "--" + option.name);
    if (option.letter != 0) text += " \\\n" + indent + zsh_option(option, std::string{'-', option.letter});
  }
  return text;
}

std::string zsh_offers(const Command& command) {
  std::string text;
  for (std::size_t i = 0; i < command.offered.size(); ++i) {
    const Offered& offered = command.offered[i];
    const bool is_last = i + 1 == command.offered.size();
    text += " \\\n      " + single_quoted(fmt::format("{}:argument:{}", is_last ? "*" : fmt::format("{}", i + 1),
                                                      zsh_action(offered.words, offered.files, false)));
  }
  return text;
}

std::string zsh_completions() {
  std::string text =
      "#compdef pando\n"
      "# Completions of pando for zsh; made by 'pando --completions zsh'.\n"
      "local -a commands\ncommands=(\n";
  for (const Command& command : commands())
    text += "  " + single_quoted(command.name + ":" + zsh_text(command.summary)) + "\n";
  text += ")\nif ((CURRENT == 2)); then\n  _describe command commands\n  _arguments";
  text += zsh_options(global_options(), "    ");
  text += "\n  return\nfi\nshift words\n((CURRENT--))\ncase $words[1] in\n";
  for (const Command& command : commands()) {
    text += fmt::format("  {})\n    _arguments", command.name);
    text += zsh_options(options_of(command), "      ") + zsh_offers(command) + " ;;\n";
  }
  return text + "esac\n";
}

std::string fish_option(const Option& option, const std::string& condition) {
  std::string line =
      fmt::format("complete -c pando -n {} -l {}{} -d {}", single_quoted(condition), option.name,
                  option.letter == 0 ? "" : fmt::format(" -s {}", option.letter), single_quoted(option.help));
  if (option.kind != Kind::flag) line += takes_path(option) ? " -r -F" : " -x";
  if (!option.choices.empty()) line += " -a " + single_quoted(join(option.choices, " "));
  return line + "\n";
}

// Words that are counted are those before the one that is written: "pando" and the command are two.
std::string fish_offers(const Command& command) {
  std::string text;
  for (std::size_t i = 0; i < command.offered.size(); ++i) {
    const bool is_last = i + 1 == command.offered.size();
    const std::string place = command.offered.size() == 1 ? ""
                                                          : fmt::format("; and test (count (commandline -opc)) {} {}",
                                                                        is_last ? "-ge" : "-eq", i + 2);
    const std::string condition = single_quoted("__fish_seen_subcommand_from " + command.name + place);
    if (!command.offered[i].words.empty())
      text +=
          fmt::format("complete -c pando -n {} -a {}\n", condition, single_quoted(join(command.offered[i].words, " ")));
    if (command.offered[i].files) text += fmt::format("complete -c pando -n {} -F\n", condition);
  }
  return text;
}

std::string fish_completions() {
  std::string text = "# Completions of pando for fish; made by 'pando --completions fish'.\ncomplete -c pando -f\n";
  for (const Option& option : global_options()) text += fish_option(option, "__fish_use_subcommand");
  for (const Command& command : commands()) {
    text += fmt::format("complete -c pando -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        single_quoted(command.summary));
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    text += fish_offers(command);
    for (const Option& option : options_of(command)) text += fish_option(option, condition);
  }
  return text;
}

}  // namespace

std::string completions(const std::string& shell) {
  if (shell == "bash") return bash_completions();
  if (shell == "zsh") return zsh_completions();
  if (shell == "fish") return fish_completions();
  throw InternalError("no completions for " + shell);
}

}  // namespace pando::cli
