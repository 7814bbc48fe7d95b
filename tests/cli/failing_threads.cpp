// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded that refuses one thread, or all from then on: PANDO_THREAD_FAULT is "N" or "N on", and the
// N-th call of pthread_create fails as where a limit of processes is reached.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> calls = 0;

bool is_refused() {
  const char* fault = std::getenv("PANDO_THREAD_FAULT");
  if (fault == nullptr) return false;
  const long number = ++calls, refused = std::strtol(fault, nullptr, 10);
  return std::strstr(fault, "on") != nullptr ? number >= refused : number == refused;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return is_refused() ? EAGAIN : create(thread, attributes, start, argument);
}
