// SPDX-License-Identifier: Apache-2.0
#include "model/call_lock.h"

#include <pando/base/error.h>

#include <fmt/format.h>

namespace pando {

CallLock::Call::Call(CallLock& lock, const std::string& who, const std::string& what) : lock_(lock) {
  std::unique_lock guard(lock_.mutex_);
  if (lock_.depth_ > 0 && serves_call(&lock_))
    throw Error(
        fmt::format("{}: {} is in a call that waits for data that this call helps to make; make the data with another "
                    "model that has the same weights",
                    who, what));
  lock_.free_.wait(guard, [&] { return lock_.depth_ == 0 || lock_.owner_ == std::this_thread::get_id(); });
  lock_.owner_ = std::this_thread::get_id();
  if (lock_.depth_++ == 0) scope_.emplace(&lock_);
}

CallLock::Call::~Call() {
  scope_.reset();
  const std::lock_guard guard(lock_.mutex_);
  if (--lock_.depth_ == 0) lock_.free_.notify_one();
}

}  // namespace pando
