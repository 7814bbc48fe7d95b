#include "frontends/ipu/placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace pando::ipu {

PipelineOrder order_of(pipelining_ops::PipelineSchedule schedule) {
  using pipelining_ops::PipelineSchedule;
  if (schedule == PipelineSchedule::Grouped) return PipelineOrder::grouped;
  return schedule == PipelineSchedule::Interleaved ? PipelineOrder::interleaved : PipelineOrder::sequential;
}

void check_placement(const std::string& who, const Target& target, int stages, const std::vector<int>& mapping) {
  const int ipus = static_cast<int>(target.ipus.size());
  if (stages > ipus)
    throw Error(fmt::format("{}: the pipeline has {} stages but {} has {} IPU{}; configure {} IPUs or use fewer stages",
                            who, stages, target.name, ipus, ipus == 1 ? "" : "s", stages));
  if (mapping.empty()) return;
  std::vector<int> sorted = mapping;
  std::sort(sorted.begin(), sorted.end());
  bool good = static_cast<int>(sorted.size()) == stages;
  for (int i = 0; good && i < stages; ++i) good = sorted[static_cast<std::size_t>(i)] == i;
  if (!good)
    throw Error(
        fmt::format("{}: device_mapping is [{}] but must name each of the IPUs 0 to {} of a replica once, an IPU "
                    "for each stage",
                    who, fmt::join(mapping, ", "), stages - 1));
}

std::vector<Device> place_stages(const Target& target, int stages, const std::vector<int>& mapping) {
  const auto count = static_cast<std::size_t>(stages);
  std::vector<Device> devices;
  for (std::size_t replica = 0; replica < target.ipus.size() / count; ++replica)
    for (std::size_t stage = 0; stage < count; ++stage)
      devices.push_back(
          target.ipus[replica * count + (mapping.empty() ? stage : static_cast<std::size_t>(mapping[stage]))]);
  return devices;
}

}  // namespace pando::ipu
