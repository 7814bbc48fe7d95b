// SPDX-License-Identifier: Apache-2.0
// RunningMeans: the means of an epoch so far.
#pragma once
#include <pando/frontends/keras/history.h>

#include "model/run_loop.h"

namespace pando::keras {

// Sums over the samples of an epoch, in double: exact counts, and means that do not drift.
struct RunningSums {
  // One sum for each name; if empty, all are 0.
  std::vector<double> values = {};
  double count = 0;
};

class RunningMeans {
 public:
  explicit RunningMeans(std::vector<std::string> names, RunningSums sums = {})
      : names_(std::move(names)), sums_(std::move(sums)) {
    sums_.values.resize(names_.size());
  }
  // Adds the batches of the last execution, one by one; `each` (if any) is called after each.
  void add(const RunLoop& loop, const Function<void()>& each = {});
  Logs logs() const;
  const RunningSums& sums() const { return sums_; }
  // The mean loss of the last batch; 0 if it had no samples.
  double last_loss() const { return last_loss_; }

 private:
  std::vector<std::string> names_;
  RunningSums sums_;
  double last_loss_ = 0;
};

}  // namespace pando::keras
