// SPDX-License-Identifier: Apache-2.0
#include "syscall_counter.h"

#include <csignal>
#include <cstdlib>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pando {

namespace {

constexpr int options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;

[[noreturn]] void run_child(const std::function<void()>& function) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
  raise(SIGSTOP);
  function();
  _exit(0);
}

}  // namespace

long count_system_calls(const std::function<void()>& function) {
  const pid_t child = fork();
  if (child == 0) run_child(function);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  if (ptrace(PTRACE_SETOPTIONS, child, nullptr, options) != 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
  }
  long stops = 0;
  ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  while (true) {
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) return -1;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread != child) continue;
      // Each call stops twice, when it is entered and when it is left; the last one, to exit, is only entered.
      return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? stops / 2 : -1;
    }
    long signal = 0;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) ++stops;
    else if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != SIGSTOP) signal = WSTOPSIG(status);
    ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
  }
}

}  // namespace pando
