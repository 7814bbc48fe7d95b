// SPDX-License-Identifier: Apache-2.0
// `pando launch`: a loop around mpirun, which starts the processes, finds the hosts and ends all workers when one dies.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "cli/checkpoints.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"

extern char** environ;

namespace pando::cli {

namespace {

// How long mpirun has to end the workers after an interrupt, which a terminal sends to it, too.
constexpr std::chrono::seconds time_to_end(3);

// Waits for the process; ends it if this one is told to end and the other was not.
int wait_for(pid_t child, const InterruptWatch& watch) {
  std::optional<std::chrono::steady_clock::time_point> interrupted;
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) throw Error(fmt::format("cannot wait for mpirun: {}", std::strerror(errno)));
    const auto now = std::chrono::steady_clock::now();
    if (watch.interrupted() && !interrupted) interrupted = now;
    if (interrupted && now - *interrupted > time_to_end) {
      kill(child, SIGTERM);
      interrupted = now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// How a program ended: its exit status, or 128 and the number of the signal.
int run_program(const std::vector<std::string>& words, const InterruptWatch& watch) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ); error != 0)
    throw Error(
        fmt::format("cannot start {}: {}; install an MPI (Debian: openmpi-bin)", words[0], std::strerror(error)));
  const int status = wait_for(child, watch);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string ending(int status) {
  return status > 128 ? fmt::format("was ended by signal {} ({})", status - 128, strsignal(status - 128))
                      : fmt::format("ended with status {}", status);
}

bool is_pando_train(const std::vector<std::string>& program) {
  const std::string name = program[0].substr(program[0].find_last_of('/') + 1);
  return name == "pando" && program.size() > 1 && program[1] == "train";
}

// The value of an option of the program, as "--name VALUE" or "--name=VALUE"; empty if it is not there.
std::string option_of(const std::vector<std::string>& program, const std::string& name) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i] == name && i + 1 < program.size()) return program[i + 1];
    if (program[i].starts_with(name + "=")) return program[i].substr(name.size() + 1);
  }
  return "";
}

bool resumes(const std::vector<std::string>& program) {
  return std::find(program.begin(), program.end(), "--resume") != program.end();
}

// The program would refuse, and be started again with --resume: it must not go on with a run that is not meant.
void check_folder(const std::vector<std::string>& program) {
  if (!is_pando_train(program) || resumes(program)) return;
  const std::string folder = option_of(program, "--checkpoint");
  if (const std::string newest = folder.empty() ? "" : newest_checkpoint(folder); !newest.empty())
    throw Error(
        fmt::format("{} has the checkpoints of a run, such as {}/{}; give `pando train` --resume to go on with "
                    "it, or another folder",
                    folder, folder, newest));
}

// Its checkpoints are there after a failure, and a run that goes on must be told to.
void add_resume(std::vector<std::string>& words, const std::vector<std::string>& program) {
  const bool writes = !option_of(program, "--checkpoint").empty();
  if (is_pando_train(program) && writes && !resumes(words)) words.push_back("--resume");
}

}  // namespace

int launch(const Arguments& arguments) {
  const std::vector<std::string>& program = arguments.words();
  std::vector<std::string> words = {"mpirun", "-n", arguments.text("workers")};
  words.insert(words.end(), program.begin(), program.end());
  check_folder(program);
  // Ctrl-C is mpirun's, which ends the workers; this process waits for it and does not start it again.
  const InterruptWatch watch;
  for (std::int64_t left = arguments.whole("restarts");; --left) {
    const int status = run_program(words, watch);
    // 2 is a wrong command line, 3 a loss that is not a number: another attempt ends in the same way.
    const bool is_final = status == 0 || status == 2 || status == 3 || status == 130 || watch.interrupted();
    if (is_final || left == 0) return watch.interrupted() ? 130 : status;
    tell(fmt::format("pando launch: the program {}; it is started again{} ({} left)", ending(status),
                     is_pando_train(program) && !option_of(program, "--checkpoint").empty() ? " with --resume" : "",
                     left == 2 ? "1 restart" : fmt::format("{} restarts", left - 1)));
    add_resume(words, program);
  }
}

}  // namespace pando::cli
