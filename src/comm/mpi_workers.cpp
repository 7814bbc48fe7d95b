// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi_workers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>

#include "base/environment.h"
#include "base/notice.h"
#include "comm/background.h"
#include "comm/last_checkpoint.h"
#include "comm/mpi_library.h"
#include "comm/mpi_tags.h"
#include "comm/start.h"

namespace pando {

namespace {

// How long a worker that ended its program may have messages on their way.
constexpr std::chrono::seconds time_to_arrive(2);

// What PANDO_WORKER_TIMEOUT says.
MpiWorkers::Settings settings_of_environment() {
  MpiWorkers::Settings settings;
  const std::string text = environment("PANDO_WORKER_TIMEOUT");
  if (text.empty()) return settings;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0.1 && seconds <= 1e6))
    throw Error(fmt::format("PANDO_WORKER_TIMEOUT is '{}' but must be a number of seconds from 0.1 to 1000000", text));
  settings.patience = std::chrono::duration_cast<MpiWorkers::Clock::duration>(std::chrono::duration<double>(seconds));
  return settings;
}

// Does little while it waits: what a worker waits for may need its core.
class Waiting {
 public:
  void pause() const {
    const bool is_short = MpiWorkers::Clock::now() - begun_ < std::chrono::milliseconds(1);
    if (is_short && !is_in_background) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  bool is_long() const { return MpiWorkers::Clock::now() - begun_ > std::chrono::minutes(1); }

 private:
  MpiWorkers::Clock::time_point begun_ = MpiWorkers::Clock::now();
};

}  // namespace

MpiWorkers::MpiWorkers(const PandoMpi& mpi, const Settings& settings)
    : mpi_(mpi), settings_(settings), process_(getpid()), record_(settings.patience, Clock::now()) {
  PandoMpiMessage message;
  if (mpi_.start(&rank_, &count_, &message) != 0) throw Error(fmt::format("MPI cannot be started: {}", message.text));
  left_.resize(static_cast<std::size_t>(count_));
  processes_.resize(static_cast<std::size_t>(count_));
  record_.hear(Clock::now());
  thread_ = Thread("that watches the other workers", [this] { watch(); });

  try {
    meet();
  } catch (...) {
    end();
    throw;
  }
}

// Learns which processes the others are.
void MpiWorkers::meet() {
  std::vector<ProcessName> all(static_cast<std::size_t>(count_));
  const ProcessName own = this_process();
  std::vector<Sent> sent;
  std::vector<Received> received;
  for (int other = 0; other < count_; ++other) {
    if (other == rank_) continue;
    sent.push_back({other, std::as_bytes(std::span(&own, 1))});
    received.push_back({other, std::as_writable_bytes(std::span(&all[static_cast<std::size_t>(other)], 1))});
  }
  exchange(process_channel, sent, received);
  const std::lock_guard lock(mutex_);
  processes_ = std::move(all);
}

MpiWorkers::~MpiWorkers() {
  end();
  // If the other thread ended this worker.
  thread_.join();
  mpi_.forget(&pulse_);
}

void MpiWorkers::exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) {
  std::vector<Request> requests;
  try {
    begin(channel, sent, received, requests);
    wait(requests);
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    for (Request& request : requests) mpi_.forget(&request.handle);
    fail({.rank = rank_, .text = error.what()});
    is_noticed_ = true;
    throw;
  }
}

void MpiWorkers::give_up(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  fail({.rank = rank_, .text = why.empty() ? "unknown failure" : why});
  is_noticed_ = true;
}

void MpiWorkers::check(int status, const PandoMpiMessage& message) const {
  if (status != 0) throw Error(fmt::format("worker {}: {}", rank_, message.text));
}

void MpiWorkers::begin(int channel, std::span<const Sent> sent, std::span<const Received> received,
                       std::vector<Request>& requests) {
  const std::lock_guard lock(mutex_);
  if (failure_) throw_failure();
  const int tag = first_channel_tag + channel;
  PandoMpiMessage message;
  const auto in_pieces = [&](std::size_t size, int other, const auto& start) {
    for (std::size_t first = 0; first < size; first += settings_.most_bytes) {
      Request& request = requests.emplace_back();
      request.other = other;
      check(start(first, std::min(settings_.most_bytes, size - first), request), message);
    }
  };
  for (const Received& one : received)
    in_pieces(one.bytes.size(), one.from, [&](std::size_t first, std::size_t size, Request& request) {
      return mpi_.receive(one.bytes.data() + first, size, one.from, tag, &request.handle, &message);
    });
  for (const Sent& one : sent)
    in_pieces(one.bytes.size(), one.to, [&](std::size_t first, std::size_t size, Request& request) {
      return mpi_.send(one.bytes.data() + first, size, one.to, tag, &request.handle, &message);
    });
}

// Returns how many are not done yet.
std::size_t MpiWorkers::test(std::vector<Request>& requests) {
  std::size_t open = 0;
  for (Request& request : requests) {
    if (request.is_done) continue;
    int done = 0;
    PandoMpiMessage message;
    check(mpi_.test(&request.handle, &done, &message), message);
    request.is_done = done != 0;
    open += request.is_done ? 0 : 1;
  }
  return open;
}

void MpiWorkers::wait(std::vector<Request>& requests) {
  const Waiting waiting;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (test(requests) == 0) return;
      look_for_failures();
      check_left(requests);
      if (failure_) throw_failure();
    }
    waiting.pause();
    if (waiting.is_long() && !is_told_of_wait_.exchange(true)) tell_of_wait(requests);
  }
}

void MpiWorkers::check_others() {
  std::vector<Request> others;
  for (int other = 0; other < count_; ++other)
    if (other != rank_) others.push_back({.other = other});
  const std::lock_guard lock(mutex_);
  look_for_failures();
  check_left(others);
  if (failure_) throw_failure();
}

// It may compute, or do something else than this worker, which only the user can tell.
void MpiWorkers::tell_of_wait(const std::vector<Request>& requests) const {
  const auto open = std::find_if(requests.begin(), requests.end(), [](const Request& one) { return !one.is_done; });
  warn(
      "workers",
      fmt::format("Worker {} has waited for worker {} for a minute, and goes on waiting: it is alive. If that does not "
                  "end, the two do not run the same program with the same data.",
                  rank_, open->other),
      Line::below_bar);
}

// A program that ends while others still wait for it has failed, or does something else than they.
void MpiWorkers::check_left(const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    const std::optional<Clock::time_point>& left = left_[static_cast<std::size_t>(request.other)];
    if (!request.is_done && left && Clock::now() - *left > time_to_arrive)
      fail({.rank = request.other,
            .is_silent = true,
            .text =
                fmt::format("worker {} ended its program while worker {} still waits for it", request.other, rank_)});
  }
}

void MpiWorkers::throw_failure() {
  is_noticed_ = true;
  if (failure_->rank == rank_) throw Error(fmt::format("worker {} cannot go on: {}", rank_, failure_->text));
  throw WorkerFailure(failure_->rank, failure_->text + words_about_checkpoint(), failure_->is_silent);
}

// Keeps the first failure, and tells the others of one that this worker found; the mutex is held.
void MpiWorkers::fail(Failure failure) noexcept {
  if (failure_) return;
  failure_ = std::move(failure);
  failed_at_ = Clock::now();
  try {
    // One that is only silent may come back, and must hear that the others have ended.
    const int failed = failure_->rank;
    const bool is_dead = life_of(processes_[static_cast<std::size_t>(failed)]) == Life::ended;
    send_to_all(failure_tag, fmt::format("{} {}", failed, failure_->text.substr(0, 3000)), is_dead ? failed : rank_);
  } catch (const std::exception&) {
    // Without memory for the message, the others find out by themselves.
  }
}

void MpiWorkers::send_to_all(int tag, const std::string& text, int except) noexcept {
  std::vector<void*> requests(static_cast<std::size_t>(count_), nullptr);
  PandoMpiMessage message;
  for (int other = 0; other < count_; ++other)
    if (other != rank_ && other != except)
      mpi_.send(text.data(), text.size(), other, tag, &requests[static_cast<std::size_t>(other)], &message);
  // Short messages leave at once; what a dead worker does not take is forgotten with the process.
  const Waiting waiting;
  const Clock::time_point begun = Clock::now();
  const auto is_sent = [&](void*& request) {
    int done = 0;
    return request == nullptr || mpi_.test(&request, &done, &message) != 0 || done != 0;
  };
  while (!std::all_of(requests.begin(), requests.end(), is_sent) && Clock::now() - begun < std::chrono::seconds(1))
    waiting.pause();
  for (void*& request : requests) mpi_.forget(&request);
}

std::string MpiWorkers::receive_text(int from, int tag, std::size_t size) {
  std::string text(size, ' ');
  void* request = nullptr;
  PandoMpiMessage message;
  check(mpi_.receive(text.data(), size, from, tag, &request, &message), message);
  int done = 0, status = 0;
  while (done == 0 && status == 0) status = mpi_.test(&request, &done, &message);
  mpi_.forget(&request);
  check(status, message);
  return text;
}

void MpiWorkers::look_for_failures() {
  int from = 0, arrived = 0;
  std::size_t size = 0;
  PandoMpiMessage message;
  check(mpi_.has_arrived(failure_tag, &from, &size, &arrived, &message), message);
  if (arrived == 0) return;
  const std::string text = receive_text(from, failure_tag, size);
  if (failure_) return;
  int rank = from;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  const auto rest = static_cast<std::size_t>(end - text.data());
  const bool is_silent = rank != from;
  const std::string why = text.size() > rest + 1 ? text.substr(rest + 1) : "unknown failure";
  failure_ = {rank, is_silent, is_silent ? why : fmt::format("worker {} gave up: {}", rank, why)};
  failed_at_ = Clock::now();
}

std::shared_ptr<MpiWorkers> start_mpi(const Start& start) {
  auto made = std::make_shared<MpiWorkers>(open_mpi_module(), settings_of_environment());
  if (made->count() == 1 && start.count > 1)
    throw Error(
        fmt::format("worker {}: {} started {} processes, but MPI knows of {}; start the program with the mpirun of the "
                    "MPI that Pando was built with, or with srun --mpi=pmix",
                    start.rank, start.by, start.count, made->count()));
  delay_termination(made->wake_up());
  return made;
}

}  // namespace pando
