// SPDX-License-Identifier: Apache-2.0
// Workers that MPI connects. Messages are sent and received without blocking, and a waiting worker looks whether
// another one has failed. One more thread sends pulses to the next worker and listens for those of the one before. A
// worker that computes for long still has a pulse; one that is stopped or unplugged has none; and one of this machine
// that died is missed at once. The worker that finds out tells all others.
#pragma once
#include <pando/comm/workers.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "base/thread.h"
#include "comm/mpi_module.h"
#include "base/machine/process_name.h"
#include "comm/pulse_record.h"
#include "comm/start.h"
#include "comm/wake_up.h"

namespace pando {

class MpiWorkers final : public Workers {
 public:
  using Clock = std::chrono::steady_clock;
  struct Settings {
    // How long a worker may be silent.
    Clock::duration patience = std::chrono::seconds(30);
    // How long the program may compute on after a failure before the process is ended.
    Clock::duration grace = std::chrono::seconds(3);
    // The bytes of one message of MPI, which counts them with an int.
    std::size_t most_bytes = std::size_t{1} << 30;
  };
  // Starts MPI. Throws Error if that is impossible.
  MpiWorkers(const PandoMpi& mpi, const Settings& settings);
  ~MpiWorkers() override;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) override;
  void check_others() override;
  void give_up(const std::string& why) noexcept override;

  // Waits until all workers have come to their end, and ends MPI; ends all at once if one has failed. Later calls do
  // nothing.
  void end() noexcept;
  const WakeUp& wake_up() const { return wake_up_; }

 private:
  struct Request {
    void* handle = nullptr;
    int other = 0;
    bool is_done = false;
  };
  struct Failure {
    int rank = 0;
    bool is_silent = false;
    std::string text = {};
  };

  void meet();
  void check(int status, const PandoMpiMessage& message) const;
  void begin(int channel, std::span<const Sent> sent, std::span<const Received> received,
             std::vector<Request>& requests);
  void wait(std::vector<Request>& requests);
  std::size_t test(std::vector<Request>& requests);
  void tell_of_wait(const std::vector<Request>& requests) const;
  void check_left(const std::vector<Request>& requests);
  [[noreturn]] void throw_failure();
  void fail(Failure failure) noexcept;
  void send_to_all(int tag, const std::string& text, int except) noexcept;
  std::string receive_text(int from, int tag, std::size_t size);
  void look_for_failures();

  void watch();
  void send_pulse();
  void receive_pulses();
  void judge(bool all);
  bool look_around();
  void say_failure() const;
  bool is_speaker() const;
  bool is_ended_by_starter() const;
  void end_unless_noticed();
  void end_by_termination();
  bool wait_for_the_end();

  const PandoMpi& mpi_;
  const Settings settings_;
  const std::int64_t process_;
  int rank_ = 0, count_ = 1;
  // One thread at a time calls MPI, and none of its calls blocks. It guards what follows.
  std::mutex mutex_;
  // Why the workers cannot go on, since when, and whether the program knows.
  std::optional<Failure> failure_;
  Clock::time_point failed_at_ = {};
  bool is_noticed_ = false;
  // When each worker said that its program is over.
  std::vector<std::optional<Clock::time_point>> left_;
  std::vector<ProcessName> processes_;
  PulseRecord record_;
  void* pulse_ = nullptr;
  bool is_over_ = false;

  WakeUp wake_up_;
  std::atomic<bool> is_ended_ = false, is_told_of_wait_ = false;
  Thread thread_;
};

// Starts MPI, which a process can do once. Throws Error with the remedy if MPI cannot be used, or does not know of the
// processes that were started.
std::shared_ptr<MpiWorkers> start_mpi(const Start& start);

}  // namespace pando
