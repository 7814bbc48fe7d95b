// Where the trained model of a run goes, settled before the run: it can be written there, and replaces no other model.
#pragma once
#include "cli/trained_model.h"

namespace pando::cli {

class ModelPlace {
 public:
  // The folder of --save, or else of --checkpoint, or else a new one in `pando-runs`. Throws Error, with the remedy, if
  // nothing can be written there, and if a model is there already, unless --overwrite is given or --resume goes on with
  // the run that wrote it. Makes nothing.
  explicit ModelPlace(const Arguments& arguments);

  // Throws Error if it cannot be written after all.
  void save(const OpenedModel& opened, const ImageKind& images);
  // Where it was saved; empty before.
  const std::string& saved() const { return saved_; }
  // Whether the user named it.
  bool is_named() const { return !folder_.empty(); }

 private:
  // Empty: a new one.
  std::string folder_;
  // Of the run, as a path that does not depend on the working folder; empty: none.
  std::string checkpoint_;
  std::string saved_;
};

}  // namespace pando::cli
