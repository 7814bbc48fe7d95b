// SPDX-License-Identifier: Apache-2.0
// The program `pando`: finds the command, and turns what it throws into messages and exit statuses.
#include <pando/base/error.h>
#include <pando/comm/workers.h>
#include <pando/version.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/output.h"

namespace {

using namespace pando;
using namespace pando::cli;
using Words = std::vector<std::string>;

// Only words before "--" can ask for help.
bool asks_for_help(const Words& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::any_of(words.begin(), end, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

int run_command(const Command& command, const Words& words) {
  if (asks_for_help(words)) {
    print(help_text(command));
    return 0;
  }
  try {
    return command.run(Arguments(command, words));
  } catch (const UsageError& error) {
    if (!error.command.empty()) throw;
    throw UsageError(command.name, error.what());
  }
}

const Command& require_command(const std::string& name) {
  if (const Command* command = find_command(name)) return *command;
  std::vector<std::string> names;
  for (const Command& command : commands()) names.push_back(command.name);
  throw UsageError("", unknown_name("command", name, names));
}

// Options of `pando` itself.
int run_global(const Words& words) {
  const Command self = {.name = "", .groups = {{"Options", global_options()}}};
  const Arguments arguments(self, words);
  if (arguments.flag("version")) print("pando " + version() + "\n");
  else if (arguments.flag("man")) print(man_page(version()));
  else if (arguments.given("completions")) print(completions(arguments.text("completions")));
  else print(help_text());
  return 0;
}

int run(const Words& words) {
  if (words.empty()) throw UsageError("", "a command is missing");
  if (words[0].starts_with('-')) return run_global(words);
  if (words[0] != "help") return run_command(require_command(words[0]), {words.begin() + 1, words.end()});
  print(words.size() > 1 ? help_text(require_command(words[1])) : help_text());
  return 0;
}

// Otherwise the first file that is opened would take the number of a standard stream that is closed, and the progress
// would be written into it. Using the stream still fails.
void hold_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest number that is free: those below are open.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

}  // namespace

int main(int count, char** words) {
  hold_closed_streams();
  // If a pipe is closed or a file would exceed the size limit (ulimit -f), what is written is lost, and the command
  // goes on.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  if (count > 0) set_program(words[0]);
  try {
    const int status = run({words + 1, words + count});
    finish_output();
    return status;
  } catch (const UsageError& error) {
    const std::string name = error.command.empty() ? "pando" : "pando " + error.command;
    tell(fmt::format("{}: {}\n{}\nTry '{} --help'.", name, terminal_text(error.what()), usage_line(error.command),
                     name));
    return 2;
  } catch (const WorkerFailure& failure) {
    // A worker that failed tells why itself; one that is silent cannot, and the first of the others does.
    if (failure.is_silent() && mpi_workers()->rank() == (failure.rank() == 0 ? 1 : 0))
      tell(fmt::format("pando: {}", terminal_text(failure.what())));
    return 1;
  } catch (const std::exception& error) {
    const std::string who = is_first_worker() ? "pando" : fmt::format("pando, worker {}", mpi_workers()->rank());
    tell(fmt::format("{}: {}", who, terminal_text(message_of(error))));
    return 1;
  }
}
