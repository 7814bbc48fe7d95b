// SPDX-License-Identifier: Apache-2.0
// What a model's training would do, for report/explain; and stages of equal work.
#pragma once
#include "frontends/keras/run/job.h"
#include "report/explain/explain.h"

namespace pando::keras {

// Compiles the training step for such batches to know what it needs. Throws Error as fit() would, and if a prediction
// is asked for whose figures are not known.
Explanation explain_model(Model& model, const Model::ExplainOptions& options);

// A stage for each call of the network that is not an input, so that the largest stage is as small as possible.
std::vector<int> balanced_stages(Model& model, int stages, std::int64_t batch_size);

}  // namespace pando::keras
