// SPDX-License-Identifier: Apache-2.0
#include <pando/base/error.h>
#include <pando/frontends/ipu/pipelining.h>

#include <fmt/format.h>

#include "model/target.h"

namespace pando::ipu::keras {

PipelineStage::PipelineStage(int stage) {
  if (current_target()->is_host)
    throw Error(fmt::format("PipelineStage({}): there are no IPUs here; use it in the scope of an IPUStrategy", stage));
  if (current_stage())
    throw Error(fmt::format("PipelineStage({}): it is within PipelineStage({}); stages cannot be nested", stage,
                            *current_stage()));
  if (stage < 0) throw Error(fmt::format("PipelineStage({}): stages are numbered from 0", stage));
  set_current_stage(stage);
}

PipelineStage::~PipelineStage() { set_current_stage(std::nullopt); }

}  // namespace pando::ipu::keras
