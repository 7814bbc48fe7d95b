// SPDX-License-Identifier: Apache-2.0
// Training steps of a model on one tile, for instruction_counts.py, which counts their instructions. Prints the
// instruction set.
//
//   one_step MODEL [STEPS]
#include <pando/base/error.h>
#include <pando/program/program.h>

#include <cstdio>
#include <cstdlib>

#include "models.h"

namespace {

using namespace pando;

// Neither zeros, of which kernels skip whole rows, nor so large that anything overflows.
Array values(const Shape& shape) {
  Array array(DType::float32, shape);
  std::uint32_t state = 1;
  for (float *p = array.mutable_data<float>(), *end = p + array.elements(); p != end; ++p) {
    state = state * 1664525u + 1013904223u;
    *p = static_cast<float>(state >> 8) / 1.6777216e8F - 0.05F;
  }
  return array;
}

Program load(const models::TrainingStep& step, const Device& device) {
  Variables variables;
  for (const models::Parameter& parameter : step.parameters) variables.set(parameter.name, values(parameter.shape));
  return Program(step.graph, device, variables);
}

void run(const std::string& model, int steps) {
  const Device device({.tiles = 1});
  const models::TrainingStep step = models::build(model);
  Program program = load(step, device);
  Arrays feeds;
  std::vector<const std::byte*> pointers;
  for (const PortInfo& feed : program.feeds()) {
    const bool labels = feed.type.dtype != DType::float32;
    feeds.push_back(labels ? Array(feed.type.dtype, feed.type.shape) : values(feed.type.shape));
    pointers.push_back(feeds.back().raw());
  }
  const std::vector<std::byte*> outputs(program.outputs().size(), nullptr);
  for (int i = 0; i < steps; ++i) program.step(pointers, outputs);
  std::printf("%s\n", device.instruction_set().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: one_step MODEL [STEPS]\n");
    return 2;
  }
  try {
    run(argv[1], argc == 3 ? std::atoi(argv[2]) : 1);
  } catch (const Error& error) {
    std::fprintf(stderr, "one_step: %s\n", error.what());
    return 1;
  }
}
