// SPDX-License-Identifier: Apache-2.0
// The folder of a trained model: `model`, which Model::save writes, and training.json, what the command line must know
// to use it again.
#pragma once
#include "cli/models.h"

namespace pando::cli {

struct TrainedModel {
  OpenedModel opened;
  SampleKind kind;
};

// An existing model is replaced; other files are left alone. `checkpoint` is the folder of the run's checkpoints, or
// empty. Throws Error, naming the file and the remedy.
void save_trained(const std::string& directory, const OpenedModel& opened, const SampleKind& kind,
                  const std::string& checkpoint);
// Throws Error if save_trained() could not write there. Creates nothing.
void probe_trained(const std::string& directory);
// What save_trained() was given; empty if nothing was saved there.
std::string checkpoint_of_trained(const std::string& directory);

// `directory` is what --save or --checkpoint of training named, or what Model::save wrote. If something else saved the
// model, its classes are numbered and it has no data set.
TrainedModel load_trained(const std::string& directory);

}  // namespace pando::cli
