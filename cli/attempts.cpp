// SPDX-License-Identifier: Apache-2.0
#include "cli/attempts.h"

#include "cli/output.h"

namespace pando::cli {

void Attempts::write(const Function<void()>& write) {
  try {
    write();
  } catch (const std::exception& error) {
    fail(message_of(error));
  }
}

void Attempts::tell_failures() const {
  for (const std::string& failure : failures_) tell("pando: " + failure);
}

}  // namespace pando::cli
