// Crowding: whether a team of threads gets on faster than one of them would alone.
//
// Threads that wait for each other at barriers need their cores at the same time. Where other processes want the cores,
// the system runs now one of them, now another, and each waits for one that is not running: a step of microseconds
// takes milliseconds. The sign of it is that the work takes longer than the processor time of all threads together. One
// thread that does all the work needs no other then, and is faster.
#pragma once
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <vector>

namespace pando {

// Used by one thread at a time, a member of the team.
class Crowding {
 public:
  // Besides the thread that calls the functions below.
  void add_member(pthread_t thread);

  // Whether the team is to stay apart now. Costs a look at the clock while it is, and nothing otherwise.
  bool is_crowded();
  // A member has waited so long for others that it slept: looks at how the team got on since the first time.
  void judge();
  // Between the two the team has no work: that time does not count.
  void pause();
  void resume();
  // What lies before this does not count: the team waited for something else.
  void forget() { phase_begin_ = {}; }

  // For tests: every team is to stay apart.
  static std::atomic<bool> is_assumed;

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::nanoseconds processor_time() const;

  std::vector<clockid_t> members_;
  // Of the time that is looked at; none has begun where it is 0.
  Clock::time_point phase_begin_ = {}, pause_begin_ = {}, apart_until_ = {};
  std::chrono::nanoseconds processor_time_before_{0}, processor_time_at_pause_{0};
  pthread_t caller_ = {};
  bool is_apart_ = false;
  std::chrono::nanoseconds next_time_apart_ = shortest_time_apart;

  static constexpr std::chrono::milliseconds shortest_time_apart{20}, longest_time_apart{640};
};

}  // namespace pando
