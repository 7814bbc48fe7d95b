// SPDX-License-Identifier: Apache-2.0
#include "frontends/ipu/placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace pando::ipu {

PipelineOrder order_of(pipelining_ops::PipelineSchedule schedule) {
  using pipelining_ops::PipelineSchedule;
  if (schedule == PipelineSchedule::Grouped) return PipelineOrder::grouped;
  return schedule == PipelineSchedule::Interleaved ? PipelineOrder::interleaved : PipelineOrder::sequential;
}

namespace {

void check_mapping(const std::string& who, const Target& target, int stages, const std::vector<int>& mapping) {
  const int ipus = static_cast<int>(target.ipus.size());
  const std::string given = fmt::format("{}: device_mapping is [{}] but", who, fmt::join(mapping, ", "));
  if (static_cast<int>(mapping.size()) != stages)
    throw Error(fmt::format("{} the pipeline has {} stage{}; name the IPU of each stage", given, stages,
                            stages == 1 ? "" : "s"));
  const auto [smallest, largest] = std::minmax_element(mapping.begin(), mapping.end());
  if (*smallest < 0 || *largest >= ipus)
    throw Error(fmt::format("{} {} has {} IPU{}; name numbers from 0 to {}, or configure more IPUs", given, target.name,
                            ipus, ipus == 1 ? "" : "s", ipus - 1));
  for (int ipu = 0; ipu < *largest; ++ipu)
    if (std::find(mapping.begin(), mapping.end(), ipu) == mapping.end())
      throw Error(fmt::format("{} IPU {} would have no stage; name each of the IPUs 0 to {} of a replica", given, ipu,
                              *largest));
}

}  // namespace

int ipus_of_replica(int stages, const std::vector<int>& mapping) {
  return mapping.empty() ? stages : *std::max_element(mapping.begin(), mapping.end()) + 1;
}

void check_placement(const std::string& who, const Target& target, int stages, const std::vector<int>& mapping) {
  if (!mapping.empty()) return check_mapping(who, target, stages, mapping);
  const int ipus = static_cast<int>(target.ipus.size());
  if (stages > ipus)
    throw Error(
        fmt::format("{}: the pipeline has {} stages but {} has {} IPU{}; configure {} IPUs, use fewer stages, or "
                    "let stages share an IPU by device_mapping",
                    who, stages, target.name, ipus, ipus == 1 ? "" : "s", stages));
}

std::vector<Device> place_stages(const Target& target, int stages, const std::vector<int>& mapping) {
  const auto width = static_cast<std::size_t>(ipus_of_replica(stages, mapping));
  std::vector<Device> devices;
  for (std::size_t replica = 0; replica < target.ipus.size() / width; ++replica)
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(stages); ++stage)
      devices.push_back(
          target.ipus[replica * width + (mapping.empty() ? stage : static_cast<std::size_t>(mapping[stage]))]);
  return devices;
}

}  // namespace pando::ipu
