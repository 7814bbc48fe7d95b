// SPDX-License-Identifier: Apache-2.0
// Files that are written after a training. One that cannot be written must not cost the results.
#pragma once
#include <pando/base/function.h>

#include <string>
#include <vector>

namespace pando::cli {

class Attempts {
 public:
  // Calls `write`; what it throws is kept for the end.
  void write(const Function<void()>& write);
  void fail(const std::string& problem) { failures_.push_back(problem); }
  bool failed() const { return !failures_.empty(); }
  // On the standard error stream.
  void tell_failures() const;

 private:
  std::vector<std::string> failures_;
};

}  // namespace pando::cli
