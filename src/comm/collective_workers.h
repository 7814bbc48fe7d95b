// SPDX-License-Identifier: Apache-2.0
// CollectiveWorkers: Workers over messages that all workers must send in the same order, such as those of NCCL.
//
// The threads of a worker exchange on channels of their own, in any order, so one more thread sends for all of them.
// The workers tell each other on which channels their threads wait, and serve the lowest channel on which all of them
// do. A worker that has nothing to exchange does not join in, and the others wait for it. A worker also tells when it
// gives up, and when its program is over.
#pragma once
#include <pando/comm/workers.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/thread.h"

namespace pando {

// All workers make the same calls in the same order. Calls return when their messages have arrived, and throw Error if
// they cannot; one thread makes them.
class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int count() const = 0;
  // `all` gets the bytes of every worker, in the order of their ranks.
  virtual void gather(std::span<const std::byte> own, std::span<std::byte> all) = 0;
  virtual void exchange(std::span<const Workers::Sent> sent, std::span<const Workers::Received> received) = 0;
};

class CollectiveWorkers final : public Workers {
 public:
  explicit CollectiveWorkers(std::unique_ptr<Collective> collective);
  ~CollectiveWorkers() override;

  int rank() const override { return collective_->rank(); }
  int count() const override { return collective_->count(); }
  void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) override;
  void check_others() override;
  void give_up(const std::string& why) noexcept override;

  // Waits until the programs of all workers are over, or one has failed. Later calls do nothing.
  void end() noexcept;

 private:
  // What a worker tells the others.
  struct Notice;
  // A thread that waits.
  struct Request {
    std::span<const Sent> sent;
    std::span<const Received> received;
    bool is_done = false;
  };

  void serve();
  bool serve_once();
  Notice own_notice() const;
  Request& request_of(int channel) const;
  void give_up_if_left_alone(bool works, int other);
  void fail(std::exception_ptr failure);

  const std::unique_ptr<Collective> collective_;
  const std::int64_t process_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Request*> waiting_;
  std::string given_up_;
  std::exception_ptr failure_;
  bool has_given_up_ = false, is_over_ = false, looks_ = false;
  // Since when another worker's program is over and nothing was served to this one. Only the sending thread uses it.
  std::optional<std::chrono::steady_clock::time_point> alone_since_;
  Thread thread_;
};

}  // namespace pando
