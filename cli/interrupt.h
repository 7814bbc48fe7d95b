// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a model trains.
#pragma once

namespace pando::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP do not end the process but are remembered; a second one ends it. Only one
// of these may exist at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  // Restores the old behaviour.
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;
};

}  // namespace pando::cli
