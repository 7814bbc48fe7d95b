// SPDX-License-Identifier: Apache-2.0
// An MPI whose workers are threads of the test: messages wait in queues until they are taken. Links can be cut, and
// calls made to fail.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "comm/mpi_module.h"

namespace pando {

class ThreadMpi {
 public:
  static constexpr int most_workers = 3;
  explicit ThreadMpi(int count) : count_(count) { world_ = this; }
  ~ThreadMpi() { world_ = nullptr; }

  // What the worker uses.
  static const PandoMpi& of(int rank) {
    static const std::array<PandoMpi, most_workers> tables = {table<0>(), table<1>(), table<2>()};
    return tables.at(static_cast<std::size_t>(rank));
  }
  // From now on nothing reaches the worker or comes from it.
  void cut(int rank) {
    const std::lock_guard lock(mutex_);
    cut_.insert(rank);
  }
  // From now on the worker's calls fail.
  void break_calls(int rank) {
    const std::lock_guard lock(mutex_);
    broken_.insert(rank);
  }
  // How the worker ended: "finished", "aborted", or "" as long as it has not.
  std::string end_of(int rank) {
    const std::lock_guard lock(mutex_);
    return ends_[rank];
  }
  std::size_t largest_message() {
    const std::lock_guard lock(mutex_);
    return largest_;
  }

 private:
  struct Open {
    void* bytes = nullptr;
    std::size_t size = 0;
    std::tuple<int, int, int> queue = {};
    std::int64_t number = 0;
    bool is_sent = false;
  };
  // Messages by their number: the first that is sent is the first that was asked for, as MPI promises.
  struct Queue {
    void add(std::vector<std::byte> bytes) { messages[sent++] = std::move(bytes); }
    std::map<std::int64_t, std::vector<std::byte>> messages;
    std::int64_t sent = 0, wanted = 0;
  };

  static int fail(const char* text, PandoMpiMessage* message) {
    std::strncpy(message->text, text, sizeof message->text - 1);
    return 1;
  }

  template <int rank>
  static PandoMpi table() {
    PandoMpi mpi{};
    mpi.start = [](int* own, int* count, PandoMpiMessage*) {
      *own = rank;
      *count = world_->count_;
      return 0;
    };
    mpi.send = [](const void* bytes, std::size_t size, int to, int tag, void** request, PandoMpiMessage*) {
      const std::lock_guard lock(world_->mutex_);
      const auto* begin = static_cast<const std::byte*>(bytes);
      world_->largest_ = std::max(world_->largest_, size);
      if (!world_->cut_.contains(rank) && !world_->cut_.contains(to))
        world_->queues_[{rank, to, tag}].add({begin, begin + size});
      *request = new Open{.is_sent = true};
      return 0;
    };
    mpi.receive = [](void* bytes, std::size_t size, int from, int tag, void** request, PandoMpiMessage*) {
      const std::lock_guard lock(world_->mutex_);
      const std::tuple<int, int, int> key{from, rank, tag};
      *request = new Open{.bytes = bytes, .size = size, .queue = key, .number = world_->queues_[key].wanted++};
      return 0;
    };
    mpi.test = [](void** request, int* done, PandoMpiMessage* message) {
      return world_->test(rank, request, done, message);
    };
    mpi.forget = [](void** request) {
      delete static_cast<Open*>(*request);
      *request = nullptr;
    };
    mpi.has_arrived = [](int tag, int* from, std::size_t* size, int* arrived, PandoMpiMessage*) {
      const std::lock_guard lock(world_->mutex_);
      *arrived = 0;
      for (const auto& [key, queue] : world_->queues_) {
        if (queue.messages.empty() || std::get<1>(key) != rank || std::get<2>(key) != tag) continue;
        *from = std::get<0>(key);
        *size = queue.messages.begin()->second.size();
        *arrived = 1;
      }
      return 0;
    };
    mpi.finish = [] { world_->note_end(rank, "finished"); };
    mpi.abort = [] { world_->note_end(rank, "aborted"); };
    return mpi;
  }

  int test(int rank, void** request, int* done, PandoMpiMessage* message) {
    const std::lock_guard lock(mutex_);
    auto* open = static_cast<Open*>(*request);
    if (broken_.contains(rank)) return fail("MPI_Test failed: the network card is on fire", message);
    if (!open->is_sent) {
      auto& messages = queues_[open->queue].messages;
      const auto found = messages.find(open->number);
      *done = 0;
      if (found == messages.end()) return 0;
      if (found->second.size() != open->size) return fail("MPI_Test failed: message truncated", message);
      if (open->size > 0) std::memcpy(open->bytes, found->second.data(), open->size);
      messages.erase(found);
    }
    *done = 1;
    delete open;
    *request = nullptr;
    return 0;
  }
  void note_end(int rank, const char* how) {
    const std::lock_guard lock(mutex_);
    ends_[rank] = how;
  }

  inline static ThreadMpi* world_ = nullptr;
  const int count_;
  std::mutex mutex_;
  // By sender, receiver and tag.
  std::map<std::tuple<int, int, int>, Queue> queues_;
  std::set<int> cut_, broken_;
  std::map<int, std::string> ends_;
  std::size_t largest_ = 0;
};

}  // namespace pando
