// Running a program over its batches, an execution at a time.
#pragma once
#include <pando/program.h>

#include <functional>

namespace pando {

// Runs `steps` steps (negative: until the feed ends), at most `steps_per_execution` in each execution. After each,
// `after` is told the number of its first step and how many it ran; it ends the run by returning false. Returns the
// number of steps that were run.
std::int64_t run_executions(Program& program, Feed& feed, std::int64_t steps, std::int64_t steps_per_execution,
                            const std::function<bool(std::int64_t first, std::int64_t count)>& after);

// While it lives, Ctrl-C (SIGINT) does not end the process but is remembered, unless the program has a handler of its
// own. A second one ends the process.
class InterruptDelay {
 public:
  InterruptDelay();
  // Takes the old behaviour back.
  ~InterruptDelay();
  InterruptDelay(const InterruptDelay&) = delete;
  InterruptDelay& operator=(const InterruptDelay&) = delete;

  bool requested() const;
  // Takes the old behaviour back and, if Ctrl-C was pressed, lets it act now: the process ends as it would have.
  void deliver();

 private:
  bool installed_ = false;
};

}  // namespace pando
