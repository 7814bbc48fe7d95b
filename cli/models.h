// SPDX-License-Identifier: Apache-2.0
// The models that a command line can name.
#pragma once
#include <pando/frontends/keras/model.h>

#include "cli/samples.h"

namespace pando::cli {

struct BuiltInModel {
  std::string name;
  // What it is, in a line.
  std::string text;
  // The smallest height and width of images for its convolutions and poolings; 0 if it also takes rows of numbers.
  std::int64_t smallest_image = 1;
  Tensor (*layers)(Tensor pixels) = nullptr;
};
const std::vector<BuiltInModel>& built_in_models();
std::vector<std::string> built_in_names();

// A model, and what training and prediction must know about it.
struct OpenedModel {
  keras::Model model;
  // The shape of a sample.
  Shape input;
  // Whether its outputs are logits instead of probabilities.
  bool gives_logits = false;
  // Whether it is a new built-in model for rows of a table.
  bool learns_columns = false;
};

// `word` names a built-in model, which is made for these samples, a .json file, or the folder of a trained model.
// Throws UsageError for an unknown name, and Error, naming the model and the remedy.
OpenedModel open_model(const std::string& word, const SampleKind& kind);
// A new built-in model for rows learns here what to subtract from each column and what to divide it by; others are left
// alone.
void learn_columns(OpenedModel& opened, const Array& rows);
// The trained model in a folder that Model::save wrote, or that holds such a folder under the name `model`. Throws
// Error if there is none.
OpenedModel open_saved_model(const std::string& directory);

// Samples [n, ...] as the model takes them: the same numbers in another shape. Throws Error if the number of elements
// differs.
Array as_input(const OpenedModel& opened, const Array& x);

}  // namespace pando::cli
