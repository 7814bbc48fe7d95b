// SPDX-License-Identifier: Apache-2.0
// Threads that the library starts. One place turns a refusal of the system into an Error, and knows what happens to
// threads when the process forks.
#pragma once
#include <pando/base/function.h>

#include <string>
#include <thread>
#include <vector>

namespace pando {

// Joins its thread when it is destroyed, as std::jthread does. In a child made by fork(), where the thread does not
// exist, it forgets the thread.
class Thread {
 public:
  Thread() = default;
  // Throws Error with the remedy if the system cannot start a thread; `purpose` completes "cannot start a thread ...".
  Thread(const std::string& purpose, Function<void()> work);
  ~Thread();
  Thread(Thread&& other) noexcept = default;
  Thread& operator=(Thread&& other) noexcept;

  bool joinable() const { return thread_.joinable(); }
  std::thread::native_handle_type native_handle() { return thread_.native_handle(); }
  void join();
  // The thread ends by itself; it must own everything that it uses.
  void detach() { thread_.detach(); }

 private:
  std::thread thread_;
  unsigned forks_ = 0;
};

// From now on the other threads of the process handle its signals. For threads that only compute: a handler would delay
// what others wait for, and a thread sanitizer calls handlers late on a thread that makes no calls.
void leave_signals_to_others();

// While it lives, the calling thread is in `call`, and the threads that it starts serve that call: the call waits for
// their work. Scopes end in the reverse order.
class CallScope {
 public:
  explicit CallScope(const void* call);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  const void* call() const { return call_; }
  // The scope around this one on the thread, or null.
  const CallScope* outer() const { return outer_; }

 private:
  const void* const call_;
  const CallScope* const outer_;
};

// While it lives, the calling thread counts as a thread that serves the calls it is in.
class ServiceScope {
 public:
  ServiceScope();
  ~ServiceScope();
  ServiceScope(const ServiceScope&) = delete;
  ServiceScope& operator=(const ServiceScope&) = delete;

 private:
  const std::vector<const void*> now_;
  const std::vector<const void*>* const before_;
};

// Whether the calling thread, or any thread in the chain that started it, was started to serve `call`.
bool serves_call(const void* call);

// Remembers the process that made it.
class ProcessMark {
 public:
  ProcessMark();
  // False in a child that was forked since: the threads of the parent do not exist there. Costs no system call.
  bool is_here() const;
  // Throws Error, beginning with `what`, in such a child.
  void check(const std::string& what) const;

 private:
  unsigned forks_;
};

}  // namespace pando
