// SPDX-License-Identifier: Apache-2.0
// Step: the program of a step, whichever front end traced it, and what its feeds are filled with.
#pragma once
#include <pando/graph/division.h>
#include <pando/model/trace.h>

#include "model/fed_indices.h"

namespace pando {

// The names of a step's feeds.
struct StepFeeds {
  // One for each column of the batches. The program may have no use for some of them.
  std::vector<std::string> columns = {};
  // Holds 1 for each real sample, and 0 for each that only fills up a micro-batch. If empty, batches must be full.
  std::string mask = {};
  // Holds 1 / the number of real samples. May be empty.
  std::string scale = {};
};

struct Step {
  // Makes the trace's parameters variables of the program, and compiles it. A step that does not train has an
  // accumulation of 1.
  Step(const Trace& trace, const std::vector<Device>& devices, const Division& division, Variables variables,
       StepFeeds feeds, const ProgramOptions& options = {});

  // Throws Error for the first index of the columns that is out of range, or target that is not a class.
  void check_indices(const Arrays& columns) const;
  // The index among the program's feeds; -1 if it has no use for that feed.
  int feed_index(const std::string& name) const;
  // Runs it once on whole columns, without a Feed: only for a step that is not divided, and without a mask. Returns its
  // outputs.
  Arrays run_once(const Arrays& columns, std::int64_t update);

  Division division;
  StepFeeds feeds;
  std::vector<FedIndices> fed_indices;
  // The workers of the program's options.
  std::shared_ptr<Workers> workers;
  Program program;

 private:
  // For each feed of the program, its column; the number of columns stands for the mask and the scale.
  std::vector<std::size_t> column_of_feed_;
};

}  // namespace pando
