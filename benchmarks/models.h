// SPDX-License-Identifier: Apache-2.0
// The training steps that benchmarks and tests measure, built with the graph interface.
#pragma once
#include <pando/graph/graph.h>

#include <string>
#include <vector>

namespace pando::models {

struct Parameter {
  std::string name;
  Shape shape;
};

// Inputs "x" and "labels" (int32), an output "loss" (the mean over the batch) and an assignment for each
// parameter; states of the optimizer are further variables.
struct TrainingStep {
  Graph graph;
  std::string name;
  std::int64_t batch = 0;
  // A sample's shape. With a vocabulary, samples are int32 tokens less than that, and each has a label; otherwise a
  // sample has one.
  Shape image;
  std::int64_t vocabulary = 0;
  std::vector<Parameter> parameters;
  // Multiplications and additions of convolutions and matmuls that the result needs, in both passes.
  double megaflops = 0;
};

// Without dropout; all but labels and tokens is float32, or float64. A batch of 0 is the model's own. Throws Error for
// other names.
TrainingStep build(const std::string& name, DType dtype = DType::float32, std::int64_t batch = 0);
// The forward pass alone, with an output "logits" and no "labels".
TrainingStep build_inference(const std::string& name, std::int64_t batch);
// The four of DESIGN.md section 6, three that Pando was not tuned for, and two larger ones.
std::vector<std::string> names();
// Small ones of other sizes, with strides and a residual connection, which no table of times was tuned for.
std::vector<std::string> other_names();

}  // namespace pando::models
