// SPDX-License-Identifier: Apache-2.0
// The thread of MpiWorkers that watches the other workers, and the end of a worker.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/machine/quiet_writes.h"
#include "comm/last_checkpoint.h"
#include "comm/mpi_tags.h"
#include "comm/mpi_workers.h"

namespace pando {

void MpiWorkers::watch() {
  const Clock::duration period = PulseRecord::period(settings_.patience);
  while (look_around()) {
    wake_up_.sleep(period);
    if (is_told_to_end()) end_by_termination();
  }
}

// Returns false when the thread has to end.
bool MpiWorkers::look_around() {
  const std::lock_guard lock(mutex_);
  if (is_over_) return false;
  try {
    receive_pulses();
    look_for_failures();
    if (!failure_) {
      send_pulse();
      judge(false);
    }
  } catch (const Error& error) {
    fail({.rank = rank_, .text = error.what()});
  }
  end_unless_noticed();
  return true;
}

void MpiWorkers::send_pulse() {
  PandoMpiMessage message;
  const int next = (rank_ + 1) % count_;
  if (next == rank_ || left_[static_cast<std::size_t>(next)]) return;
  if (pulse_ != nullptr) {
    int done = 0;
    check(mpi_.test(&pulse_, &done, &message), message);
    // A worker that is stopped takes none; it gets no more of them.
    if (done == 0) return;
  }
  check(mpi_.send(&alive, 1, next, pulse_tag, &pulse_, &message), message);
}

void MpiWorkers::receive_pulses() {
  while (true) {
    int from = 0, arrived = 0;
    std::size_t size = 0;
    PandoMpiMessage message;
    check(mpi_.has_arrived(pulse_tag, &from, &size, &arrived, &message), message);
    if (arrived == 0) return;
    const std::string pulse = receive_text(from, pulse_tag, size);
    if (from == (rank_ + count_ - 1) % count_) record_.hear(Clock::now());
    if (pulse == std::string(1, over)) left_[static_cast<std::size_t>(from)] = Clock::now();
  }
}

// Looks whether the worker before, or all of this machine, still live.
void MpiWorkers::judge(bool all) {
  const int before = (rank_ + count_ - 1) % count_;
  for (int other = 0; other < count_; ++other) {
    const auto index = static_cast<std::size_t>(other);
    if (other == rank_ || left_[index] || (!all && other != before)) continue;
    if (life_of(processes_[index]) == Life::ended)
      fail({.rank = other,
            .is_silent = true,
            .text = fmt::format("worker {} (process {} on {}) died: it was killed, crashed or ran out of memory", other,
                                processes_[index].number, host_name())});
  }
  const bool is_silent = record_.is_silent(Clock::now());
  if (is_silent && before != rank_ && !left_[static_cast<std::size_t>(before)])
    fail({.rank = before,
          .is_silent = true,
          .text = fmt::format("worker {} has not heard from worker {} for {:g} s: it was stopped or cannot be reached "
                              "(PANDO_WORKER_TIMEOUT sets the time)",
                              rank_, before, std::chrono::duration<double>(settings_.patience).count())});
}

// One of the workers that are left speaks for all.
bool MpiWorkers::is_speaker() const { return rank_ == (failure_->rank == 0 ? 1 : 0); }

// Not by tell(): what the program does with messages may need what its other threads hold.
void MpiWorkers::say_failure() const {
  const std::string text = fmt::format("pando, worker {}: {}{}\n", rank_, failure_->text, words_about_checkpoint());
  const QuietWrites quiet;
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

// mpirun sees a death on its machine as soon as this worker does and ends all; MPI_Abort would only begin that again.
bool MpiWorkers::is_ended_by_starter() const {
  return life_of(processes_[static_cast<std::size_t>(failure_->rank)]) == Life::ended;
}

// A program that computes, or does something else, is not kept waiting for workers that will never come.
void MpiWorkers::end_unless_noticed() {
  if (!failure_ || is_noticed_ || is_over_) return;
  // The one that speaks comes first, because the end of one ends all.
  const Clock::duration grace = is_speaker() ? settings_.grace : settings_.grace + std::chrono::seconds(1);
  if (Clock::now() - failed_at_ < grace) return;
  // Not if the program is at its end already.
  if (is_ended_.exchange(true)) return;
  if (is_speaker()) say_failure();
  is_over_ = true;
  if (is_ended_by_starter()) std::_Exit(1);
  mpi_.abort();
}

// mpirun ends all workers of a dead one: the reason is said before.
void MpiWorkers::end_by_termination() {
  const auto look = [&] {
    const std::lock_guard lock(mutex_);
    if (!failure_) judge(true);
    return failure_ && !is_noticed_;
  };
  bool is_unnoticed = look();
  // The program that waits for a worker notices, says it in its own way, and ends.
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::lock_guard lock(mutex_);
    is_unnoticed = failure_ && !is_noticed_;
    if (!failure_ || (is_unnoticed && i >= 20)) break;
  }
  {
    const std::lock_guard lock(mutex_);
    if (is_unnoticed && is_speaker()) say_failure();
  }
  deliver_termination();
}

// Waits until the programs of all workers are over; returns false if one has failed.
bool MpiWorkers::wait_for_the_end() {
  while (true) {
    wake_up_.wake();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::lock_guard lock(mutex_);
    if (failure_) return false;
    const auto left = std::count_if(left_.begin(), left_.end(), [](const auto& one) { return one.has_value(); });
    if (left == count_ - 1) return true;
  }
}

void MpiWorkers::end() noexcept {
  // A child made by fork() has no part in this.
  if (getpid() != process_ || is_ended_.exchange(true)) return;
  bool has_failed = false, is_said = false;
  {
    const std::lock_guard lock(mutex_);
    has_failed = failure_.has_value();
    is_said = is_noticed_;
    is_noticed_ = true;
    if (!has_failed) send_to_all(pulse_tag, std::string(1, over), rank_);
  }
  has_failed = has_failed || !wait_for_the_end();
  if (has_failed) {
    const std::lock_guard lock(mutex_);
    if (!is_said && is_speaker()) say_failure();
  }
  // The end of this worker ends all, also the one that says why.
  if (has_failed && !is_speaker()) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_up_.wake();
  thread_.join();
  mpi_.forget(&pulse_);
  if (!has_failed) mpi_.finish();
  else if (!is_ended_by_starter()) mpi_.abort();
}

}  // namespace pando
