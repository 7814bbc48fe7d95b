// SPDX-License-Identifier: Apache-2.0
// Where the trained model of a run goes. This is decided before the run, which checks that the model can be written
// there and does not replace another one.
#pragma once
#include "cli/trained_model.h"

namespace pando::cli {

class ModelPlace {
 public:
  // The folder of --save, otherwise that of --checkpoint, otherwise a new one in `pando-runs`. Throws Error, with the
  // remedy, if nothing can be written there, and if it already has a model, unless --overwrite is given or --resume
  // continues the run that wrote it. Creates nothing.
  explicit ModelPlace(const Arguments& arguments);

  // Saves the model. Throws Error if it cannot be written after all.
  void save(const OpenedModel& opened, const SampleKind& kind);
  // Where the model was saved; empty before that.
  const std::string& saved() const { return saved_; }
  // Whether the user named the folder.
  bool is_named() const { return !folder_.empty(); }

 private:
  // If empty, a new folder is made.
  std::string folder_;
  // The checkpoint folder of the run, as a path that does not depend on the working folder; empty if there is none.
  std::string checkpoint_;
  std::string saved_;
};

}  // namespace pando::cli
