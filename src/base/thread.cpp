#include "base/thread.h"

#include <pando/error.h>

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <system_error>

namespace pando {

namespace {

// How many forks lie between this process and the first that used the library.
std::atomic<unsigned> forks = 0;

unsigned count_forks() {
  static const bool counted = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  static_cast<void>(counted);
  return forks.load(std::memory_order_relaxed);
}

// The calls that this thread is in, and those that it was started to serve.
thread_local std::vector<const void*> calls, served_calls;

std::vector<const void*> with_own_calls(std::vector<const void*> served) {
  served.insert(served.end(), calls.begin(), calls.end());
  return served;
}

}  // namespace

Thread::Thread(const std::string& purpose, std::function<void()> work) : forks_(count_forks()) {
  try {
    thread_ = std::thread([served = with_own_calls(served_calls), work = std::move(work)]() mutable {
      served_calls = std::move(served);
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

CallScope::CallScope(const void* call) { calls.push_back(call); }
CallScope::~CallScope() { calls.pop_back(); }

ServiceScope::ServiceScope() : before_(served_calls) { served_calls = with_own_calls(before_); }
ServiceScope::~ServiceScope() { served_calls = std::move(before_); }

bool serves_call(const void* call) {
  return std::find(served_calls.begin(), served_calls.end(), call) != served_calls.end();
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
