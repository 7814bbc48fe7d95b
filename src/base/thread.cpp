// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <pando/base/error.h>

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <system_error>

namespace pando {

namespace {

// The number of forks between the first process that used the library and this one.
std::atomic<unsigned> forks = 0;

unsigned count_forks() {
  static const bool counted = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  static_cast<void>(counted);
  return forks.load(std::memory_order_relaxed);
}

// The calls that this thread is in, and those that it was started to serve, if any. These have no destructors: for
// those, a thread would have to allocate memory when it starts.
thread_local const CallScope* innermost_call = nullptr;
thread_local const std::vector<const void*>* served_calls = nullptr;

// The calls that a thread started now by this one would serve.
std::vector<const void*> calls_to_serve() {
  std::vector<const void*> calls;
  if (served_calls != nullptr) calls = *served_calls;
  for (const CallScope* scope = innermost_call; scope != nullptr; scope = scope->outer())
    calls.push_back(scope->call());
  return calls;
}

}  // namespace

Thread::Thread(const std::string& purpose, Function<void()> work) : forks_(count_forks()) {
  try {
    thread_ = std::thread([served = calls_to_serve(), work = std::move(work)] {
      served_calls = &served;
      work();
    });
  } catch (const std::system_error& error) {
    throw Error(
        fmt::format("cannot start a thread {}: {}; end other processes, raise the limit of processes (ulimit -u, or "
                    "pids.max of the cgroup), or use fewer IPUs, tiles and workers",
                    purpose, error.code().message()));
  }
}

Thread::~Thread() { join(); }

Thread& Thread::operator=(Thread&& other) noexcept {
  join();
  thread_ = std::move(other.thread_);
  forks_ = other.forks_;
  return *this;
}

void Thread::join() {
  if (!thread_.joinable()) return;
  if (forks_ == forks.load(std::memory_order_relaxed)) thread_.join();
  else thread_.detach();
}

void leave_signals_to_others() {
  sigset_t signals;
  sigfillset(&signals);
  // Faults of the thread itself, and the clock of profilers.
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) sigdelset(&signals, own);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

CallScope::CallScope(const void* call) : call_(call), outer_(innermost_call) { innermost_call = this; }
CallScope::~CallScope() { innermost_call = outer_; }

ServiceScope::ServiceScope() : now_(calls_to_serve()), before_(served_calls) { served_calls = &now_; }
ServiceScope::~ServiceScope() { served_calls = before_; }

bool serves_call(const void* call) {
  return served_calls != nullptr && std::find(served_calls->begin(), served_calls->end(), call) != served_calls->end();
}

ProcessMark::ProcessMark() : forks_(count_forks()) {}

bool ProcessMark::is_here() const { return forks_ == forks.load(std::memory_order_relaxed); }

void ProcessMark::check(const std::string& what) const {
  if (is_here()) return;
  throw Error(
      fmt::format("{} was made before this process was forked, and its threads stayed in the parent; make models and "
                  "devices in the "
                  "child, or fork before the first of them",
                  what));
}

}  // namespace pando
