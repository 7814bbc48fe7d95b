// SPDX-License-Identifier: Apache-2.0
// Where the stages of a pipeline run, and in which order.
#pragma once
#include <pando/frontends/ipu/pipelining.h>
#include <pando/graph/division.h>

#include "model/target.h"

namespace pando::ipu {

PipelineOrder order_of(pipelining_ops::PipelineSchedule schedule);

// `mapping` gives the IPU of the replica that each stage runs on; if empty, stage i runs on IPU i. Stages may share an
// IPU. Throws Error, beginning with `who`, if there are more stages than IPUs or the mapping does not match.
void check_placement(const std::string& who, const Target& target, int stages, const std::vector<int>& mapping);
int ipus_of_replica(int stages, const std::vector<int>& mapping);
// The devices of as many replicas as there are IPUs for: those of the first replica's stages, then those of the next.
std::vector<Device> place_stages(const Target& target, int stages, const std::vector<int>& mapping);

}  // namespace pando::ipu
