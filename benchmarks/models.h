// The training steps that benchmarks and tests measure, built with the graph interface.
#pragma once
#include <pando/graph.h>

#include <string>
#include <vector>

namespace pando::models {

struct Parameter {
  std::string name;
  Shape shape;
};

// Inputs "x" (float32) and "labels" (int32), an output "loss" (the mean over the batch) and an assignment for each
// parameter; states of the optimizer are further variables.
struct TrainingStep {
  Graph graph;
  std::string name;
  std::int64_t batch = 0;
  Shape image;
  std::vector<Parameter> parameters;
};

// mlp, keras_cnn, fashion and poptorch_cnn of DESIGN.md section 6, without dropout. Throws Error for other names.
TrainingStep build(const std::string& name);
std::vector<std::string> names();

}  // namespace pando::models
