// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/running_means.h"

#include "base/text.h"
#include "frontends/keras/run/step.h"

namespace pando::keras {

void RunningMeans::add(const RunLoop& loop, const Function<void()>& each) {
  const Array counts = loop.output(count_output);
  std::vector<Array> outputs;
  for (const std::string& name : names_) outputs.push_back(loop.output(name));
  for (std::int64_t batch = 0; batch < counts.elements(); ++batch) {
    for (std::size_t i = 0; i < names_.size(); ++i)
      sums_.values[i] += static_cast<double>(outputs[i].data<float>()[batch]);
    const auto count = static_cast<double>(counts.data<float>()[batch]);
    sums_.count += count;
    last_loss_ = count > 0 ? static_cast<double>(outputs[0].data<float>()[batch]) / count : 0.0;
    if (each) each();
  }
}

Logs RunningMeans::logs() const {
  Logs logs;
  // Without samples, the mean is reported as 0.
  for (std::size_t i = 0; i < names_.size(); ++i)
    logs.set(names_[i], sums_.count > 0 ? without_nan_sign(sums_.values[i] / sums_.count) : 0.0);
  return logs;
}

}  // namespace pando::keras
