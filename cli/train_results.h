// SPDX-License-Identifier: Apache-2.0
// What `pando train` says about a run when it has ended.
#pragma once
#include "cli/attempts.h"
#include "cli/model_place.h"
#include "cli/virtual_ipus.h"

namespace pando::cli {

struct Outcome {
  keras::History history;
  double seconds = 0;
  bool interrupted = false;
  // The numbers of the test; empty if there was none.
  keras::Logs test = {};
};

// A run with everything that there is to say about it.
struct TrainedRun {
  const Arguments& arguments;
  const OpenedModel& opened;
  const SampleKind& kind;
  // What could not be read and was left out.
  const std::vector<std::string>& skipped;
  const Division& division;
  // How many samples were trained on, and validated with.
  std::int64_t trained = 0, validated = 0;
  const Outcome& outcome;
  const ModelPlace& place;
};

// The results on the standard output: a table, or one JSON object.
void print_results(const TrainedRun& run);
// Where everything is, what went wrong and what to do next, on the standard error stream. Returns the exit status.
int tell_end(const TrainedRun& run, const Attempts& attempts);

}  // namespace pando::cli
