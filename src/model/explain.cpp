// SPDX-License-Identifier: Apache-2.0
#include "model/explain.h"

#include <fmt/format.h>

namespace pando {

std::vector<ExplainedStage> explain_stages(const Program& program) {
  std::vector<ExplainedStage> stages;
  for (const DeviceUse& use : program.device_use())
    stages.push_back({.megaflops = use.megaflops,
                      .memory = {.weights = use.weights,
                                 .optimizer = use.slots,
                                 .gradients = use.sums,
                                 .activations = use.working,
                                 .stash = use.stash,
                                 .feeds = use.feeds},
                      .tiles = use.tiles});
  return stages;
}

std::string layers_text(const std::vector<std::string>& layers) {
  if (layers.empty()) return "";
  return layers.size() == 1 ? layers[0] : fmt::format("{} .. {}", layers.front(), layers.back());
}

}  // namespace pando
