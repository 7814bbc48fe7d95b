// SPDX-License-Identifier: Apache-2.0
// tf.train.Saver: all that sessions keep between runs, in one file.
#pragma once
#include <pando/frontends/tf1/session.h>

namespace pando::tf1::train {

// Stores what the default graph keeps:
// - the values of all variables;
// - the states of optimizers, and the number of updates, on which random numbers and schedules depend;
// - the places of iterators and infeed queues in their data sets.
//
// A program that builds the same graph in a new process and restores the file goes on with the bits of one that was
// never interrupted. What is still in an outfeed queue is not stored: dequeue it first.
class PANDO_API Saver {
 public:
  // Replaces the file at once, when everything is on the disk; if it throws, an old file is unchanged. Throws Error
  // naming the file and the remedy if it cannot be written, and for a variable that this session has not initialised.
  void save(Session& session, const std::string& path) const;
  // Everything is initialised for this session afterwards. Throws Error naming the file and the remedy if it cannot be
  // read or is of another graph or other data; then nothing is changed.
  void restore(Session& session, const std::string& path) const;
};

}  // namespace pando::tf1::train
