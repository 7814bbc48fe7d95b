// SPDX-License-Identifier: Apache-2.0
// What holds for every command: its options, exit statuses and environment variables.
#include "cli/commands.h"

namespace pando::cli {

const std::vector<Option>& global_options() {
  static const std::vector<Option> list = {
      {.name = "help", .letter = 'h', .help = "this text; 'pando COMMAND --help' says everything about a command"},
      {.name = "version", .letter = 'V', .help = "the version"},
      {.name = "man", .help = "the manual page, for man -l"},
      {.name = "completions",
       .kind = Option::Kind::choice,
       .value = "SHELL",
       .help = "completions for bash, zsh or fish",
       .choices = {"bash", "zsh", "fish"}}};
  return list;
}

const std::vector<Described>& exit_statuses() {
  static const std::vector<Described> list = {
      {"0", "done"},
      {"1", "something failed; the message says what, and what to do"},
      {"2", "the command line is wrong"},
      {"3", "the training or test loss is not a number at the end, so the model is useless"},
      {"130", "interrupted by Ctrl-C, SIGTERM or SIGHUP; with --checkpoint nothing is lost"}};
  return list;
}

const std::vector<Described>& environment_variables() {
  static const std::vector<Described> list = {
      {"PANDO_DATA", "a folder with a folder for each data set, looked through first"},
      {"PANDO_MIRROR", "the address to download data sets from"},
      {"XDG_CACHE_HOME", "where downloaded data sets are kept (default: ~/.cache)"},
      {"PANDO_MEASUREMENTS",
       "the file that bench writes and explain reads (default: pando/measurements.json in the cache folder)"},
      {"PANDO_INSTRUCTION_SET", "portable, neon, avx2 or avx512, rather than the best of this machine"}};
  return list;
}

}  // namespace pando::cli
