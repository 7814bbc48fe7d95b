// SPDX-License-Identifier: Apache-2.0
// Workers that MPI connects. Messages are sent and received without blocking, and a waiting worker looks whether
// another one has given up: so a failure ends all workers, and silence ends them after a time that can be set.
#include <pando/base/error.h>
#include <pando/comm/workers.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "comm/mpi_module.h"

namespace pando {

namespace {

using Clock = std::chrono::steady_clock;

// The tag of messages that tell of a failure; channels are tags above it.
constexpr int failure_tag = 0;
// MPI counts the bytes of a message with an int.
constexpr std::size_t most_bytes = std::size_t{1} << 30;

// What mpirun, srun and others say of the number of processes that they start together; 0 if that is nothing.
int count_in(const std::string& text) { return text.empty() ? 0 : std::atoi(text.c_str()); }

// How long a worker waits without hearing from another.
std::chrono::duration<double> patience() {
  const std::string text = environment("PANDO_WORKER_TIMEOUT");
  if (text.empty()) return std::chrono::seconds(300);
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0))
    throw Error(fmt::format("PANDO_WORKER_TIMEOUT is '{}' but must be a number of seconds above 0", text));
  return std::chrono::duration<double>(seconds);
}

// The places of the module: what the user says, beside the library or the program, and where it is installed.
std::vector<std::filesystem::path> module_paths() {
  if (const std::string named = environment("PANDO_MPI_MODULE"); !named.empty()) return {named};
  Dl_info here{};
  std::vector<std::filesystem::path> paths;
  if (dladdr(reinterpret_cast<const void*>(&started_workers), &here) == 0 || here.dli_fname == nullptr) return paths;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::canonical(here.dli_fname, ignored).parent_path();
  return {folder / "pando" / "pando_mpi.so", folder.parent_path() / PANDO_MODULE_FOLDER / "pando_mpi.so"};
}

const PandoMpi& open_module() {
  std::string problem = "there is no pando_mpi.so beside the library";
  for (const std::filesystem::path& path : module_paths()) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    // Parts of MPI are modules that must find its symbols.
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module == nullptr) {
      problem = dlerror();
      continue;
    }
    const auto find = reinterpret_cast<decltype(&pando_mpi)>(dlsym(module, "pando_mpi"));
    if (find != nullptr && find()->version == pando_mpi_version) return *find();
    problem = fmt::format("{} belongs to another version of Pando", path.string());
  }
  throw Error(
      fmt::format("workers need MPI, but {}; install it (Debian: libopenmpi-dev openmpi-bin) and build Pando with "
                  "-DPANDO_WITH_MPI=ON, or name the module in PANDO_MPI_MODULE",
                  problem));
}

// The rank of this process; 0 before MPI is started.
std::atomic<int> own_rank = 0;

// Does little while it waits: what a worker waits for may need its core.
class Patience {
 public:
  explicit Patience(std::chrono::duration<double> longest) : longest_(longest) {}
  // Returns false when the time is over.
  bool wait() {
    const std::chrono::duration<double> waited = Clock::now() - begun_;
    if (waited < std::chrono::milliseconds(1)) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(50));
    return waited < longest_;
  }
  void begin_again() { begun_ = Clock::now(); }

 private:
  const std::chrono::duration<double> longest_;
  Clock::time_point begun_ = Clock::now();
};

class MpiWorkers final : public Workers {
 public:
  MpiWorkers() : mpi_(open_module()), patience_(patience()) {
    PandoMpiMessage message;
    if (mpi_.start(&rank_, &count_, &message) != 0) throw Error(fmt::format("MPI cannot be started: {}", message.text));
    own_rank = rank_;
  }
  // At the end of the process. A worker that cannot go on must not wait for the others.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) mpi_.finish();
    else mpi_.abort();
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) override {
    std::vector<Request> requests;
    try {
      begin(channel, sent, received, requests);
      wait(requests);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      for (Request& request : requests) mpi_.forget(&request.handle);
      if (failure_.empty()) failure_ = error.what();
      throw;
    }
  }

  void give_up(const std::string& why) noexcept override {
    const std::lock_guard lock(mutex_);
    // A worker that was told of a failure does not tell it again.
    if (!failure_.empty()) return;
    failure_ = why.empty() ? "unknown failure" : why;
    std::vector<void*> requests(static_cast<std::size_t>(count_), nullptr);
    PandoMpiMessage message;
    for (int other = 0; other < count_; ++other)
      if (other != rank_)
        mpi_.send(failure_.data(), failure_.size(), other, failure_tag, &requests[static_cast<std::size_t>(other)],
                  &message);
    // Short messages leave at once; what a dead worker does not take is forgotten with the process.
    Patience patience(std::chrono::seconds(1));
    const auto is_sent = [&](void*& request) {
      int done = 0;
      return request == nullptr || mpi_.test(&request, &done, &message) != 0 || done != 0;
    };
    while (!std::all_of(requests.begin(), requests.end(), is_sent) && patience.wait()) {
    }
  }

 private:
  struct Request {
    void* handle = nullptr;
    int other = 0;
    bool is_done = false;
  };

  void check(int status, const PandoMpiMessage& message) const {
    if (status != 0) throw Error(fmt::format("worker {}: {}", rank_, message.text));
  }

  void begin(int channel, std::span<const Sent> sent, std::span<const Received> received,
             std::vector<Request>& requests) {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw Error(fmt::format("worker {} cannot go on: {}", rank_, failure_));
    const int tag = failure_tag + 1 + channel;
    PandoMpiMessage message;
    const auto in_pieces = [&](std::size_t size, int other, const auto& start) {
      for (std::size_t first = 0; first < size; first += most_bytes) {
        Request& request = requests.emplace_back();
        request.other = other;
        check(start(first, std::min(most_bytes, size - first), request), message);
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

  void wait(std::vector<Request>& requests) {
    Patience patience(patience_);
    for (std::size_t open = requests.size(); open > 0;) {
      const std::size_t before = open;
      {
        const std::lock_guard lock(mutex_);
        for (Request& request : requests) {
          if (request.is_done) continue;
          int done = 0;
          PandoMpiMessage message;
          check(mpi_.test(&request.handle, &done, &message), message);
          request.is_done = done != 0;
          open -= request.is_done ? 1 : 0;
        }
        if (open > 0) look_for_failures();
      }
      if (open < before) patience.begin_again();
      if (open > 0 && !patience.wait()) tell_of_silence(requests);
    }
  }

  // Throws if a worker has told of a failure.
  void look_for_failures() {
    int from = 0, arrived = 0;
    std::size_t size = 0;
    PandoMpiMessage message;
    check(mpi_.has_arrived(failure_tag, &from, &size, &arrived, &message), message);
    if (arrived == 0) return;
    std::string why(size, ' ');
    void* request = nullptr;
    check(mpi_.receive(why.data(), size, from, failure_tag, &request, &message), message);
    int done = 0;
    while (done == 0) check(mpi_.test(&request, &done, &message), message);
    throw WorkerFailure(from, fmt::format("worker {} gave up: {}", from, why));
  }

  [[noreturn]] void tell_of_silence(const std::vector<Request>& requests) const {
    const auto silent = std::find_if(requests.begin(), requests.end(), [](const auto& one) { return !one.is_done; });
    throw WorkerFailure(
        silent->other,
        fmt::format("worker {} has not heard from worker {} for {:.0f} s; it may be dead, unreachable or "
                    "slow (PANDO_WORKER_TIMEOUT sets the time)",
                    rank_, silent->other, patience_.count()));
  }

  const PandoMpi& mpi_;
  const std::chrono::duration<double> patience_;
  int rank_ = 0, count_ = 1;
  // One thread at a time calls MPI, and none of its calls blocks.
  std::mutex mutex_;
  // Why this worker cannot go on.
  std::string failure_;
};

}  // namespace

bool is_first_worker() { return own_rank == 0; }

int started_workers() {
  return std::max({1, count_in(environment("OMPI_COMM_WORLD_SIZE")), count_in(environment("PMI_SIZE")),
                   count_in(environment("MPI_LOCALNRANKS")), count_in(environment("SLURM_STEP_NUM_TASKS"))});
}

std::shared_ptr<Workers> mpi_workers() {
  if (started_workers() == 1)
    throw Error(
        "workers are processes that run one program together, but this process was started alone; start the "
        "program with mpirun -n COUNT PROGRAM, or with srun");
  // MPI can be started once in a process, and must be ended before it exits, even if a model still holds the workers.
  static const std::shared_ptr<MpiWorkers>& workers = *new std::shared_ptr<MpiWorkers>(std::make_shared<MpiWorkers>());
  static const int registered = std::atexit([] { workers->end(); });
  static_cast<void>(registered);
  return workers;
}

}  // namespace pando
