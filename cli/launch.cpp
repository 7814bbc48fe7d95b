// SPDX-License-Identifier: Apache-2.0
// `pando launch`: a loop around mpirun, which starts the processes, finds the hosts and ends all workers when one dies.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"

extern char** environ;

namespace pando::cli {

namespace {

// How a program ended: its exit status, or 128 and the number of the signal.
int run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ); error != 0)
    throw Error(
        fmt::format("cannot start {}: {}; install an MPI (Debian: openmpi-bin)", words[0], std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Error(fmt::format("cannot wait for {}: {}", words[0], std::strerror(errno)));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_pando_train(const std::vector<std::string>& program) {
  const std::string name = program[0].substr(program[0].find_last_of('/') + 1);
  return name == "pando" && program.size() > 1 && program[1] == "train";
}

// Its checkpoints are there after a failure, and a run that goes on must be told to.
void add_resume(std::vector<std::string>& words, const std::vector<std::string>& program) {
  const bool resumes = std::find(program.begin(), program.end(), "--resume") != program.end();
  if (is_pando_train(program) && !resumes && words.back() != "--resume") words.push_back("--resume");
}

}  // namespace

int launch(const Arguments& arguments) {
  const std::vector<std::string>& program = arguments.words();
  std::vector<std::string> words = {"mpirun", "-n", arguments.text("workers")};
  words.insert(words.end(), program.begin(), program.end());
  // Ctrl-C is mpirun's, which ends the workers; this process waits for it and does not start it again.
  const InterruptWatch watch;
  for (std::int64_t left = arguments.whole("restarts");; --left) {
    const int status = run_program(words);
    // 2 is a wrong command line, 3 a loss that is not a number: another attempt ends in the same way.
    const bool is_final = status == 0 || status == 2 || status == 3 || status == 130 || watch.interrupted();
    if (is_final || left == 0) return watch.interrupted() ? 130 : status;
    tell(fmt::format("pando launch: the program ended with status {}; starting it again ({} left)", status, left - 1));
    add_resume(words, program);
  }
}

}  // namespace pando::cli
