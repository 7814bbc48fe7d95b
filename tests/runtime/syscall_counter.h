// SPDX-License-Identifier: Apache-2.0
// count_system_calls: what a function asks of the kernel, counted by tracing a child process that runs it.
#pragma once
#include <functional>

namespace pando {

// Between the start and the end of the function, over all its threads; sched_yield, which only gives the core away, and
// thread start-up are counted like any other. -1 if tracing is not allowed.
long count_system_calls(const std::function<void()>& function);

}  // namespace pando
