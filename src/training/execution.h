// Running a program over its batches, an execution at a time.
#pragma once
#include <cstdint>
#include <functional>

namespace pando {

// Runs `steps` steps (negative: until the data ends), at most `steps_per_execution` in each execution. `execute` is
// told how many to run and returns how many it did, 0 at the end. After each, `after` is told the number of the first
// step and how many there were; it ends the run by returning false. Returns the number of steps that were run.
std::int64_t run_executions(std::int64_t steps, std::int64_t steps_per_execution,
                            const std::function<std::int64_t(std::int64_t steps)>& execute,
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
