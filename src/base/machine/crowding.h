// SPDX-License-Identifier: Apache-2.0
// Crowding: whether a team of threads is faster than one of them would be alone.
//
// Threads that wait for each other at barriers need their cores at the same time. If other processes want the cores,
// the system runs the threads at different times, and each waits for one that is not running: a step of microseconds
// takes milliseconds. The sign is that the work takes longer than the processor time of all threads together. Then half
// of the threads do the work of all, as they need fewer cores at a time. One thread alone does not wait at all.
#pragma once
#include <pthread.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace pando {

// Only one thread at a time, a member of the team, may use it.
class Crowding {
 public:
  // The members other than the thread that calls the functions below.
  void add_member(pthread_t thread);

  // How often the team should be halved now, `most` times at most. Reads the clock while the answer is not 0, and costs
  // nothing otherwise.
  int halvings(int most);
  // Whether it should be halved at all.
  bool is_crowded() { return halvings(1) > 0; }
  // Call it when a member has waited so long for others that it slept. Checks how well the team worked since the first
  // such call.
  void judge();
  // Between these two calls the team has no work; that time does not count.
  void pause();
  void resume();
  // The time before this call does not count: the team waited for something else.
  void forget() { phase_begin_ = {}; }

  // For tests: makes every team crowded, and halves it this often.
  static std::atomic<bool> is_assumed;
  static std::atomic<int> assumed_halvings;
  // For tests: how often any team was judged.
  static std::atomic<std::int64_t> judgements;

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::nanoseconds processor_time() const;

  std::vector<clockid_t> members_;
  // The start of the time that is being judged; 0 if none has begun.
  Clock::time_point phase_begin_ = {}, pause_begin_ = {}, apart_until_ = {};
  std::chrono::nanoseconds processor_time_before_{0}, processor_time_at_pause_{0};
  pthread_t caller_ = {};
  int halvings_ = 0;
  std::chrono::nanoseconds time_apart_{0};

  static constexpr std::chrono::milliseconds shortest_time_apart{20}, longest_time_apart{640};
};

}  // namespace pando
