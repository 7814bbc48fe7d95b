// SPDX-License-Identifier: Apache-2.0
// Workers that exchange messages, or fail to: faults.py starts it and disturbs it.
//
// Usage: meet_faults WHAT. `sizes`: messages from 0 bytes to 256 MB. `on`: small messages until the end, after the line
// "ready" of each worker, with its rank and its process. `compute SECONDS`: worker 1 computes for that long before it
// answers. `leave`: worker 1 ends its program early. `throw`: worker 1 throws. `copies`: trains without workers.
#include <pando/pando.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

using namespace pando;

namespace {

// Every worker sends bytes to every other, and looks at what it gets. Returns whether all is right.
bool swap_bytes(Workers& workers, std::size_t size) {
  const auto count = static_cast<std::size_t>(workers.count()), rank = static_cast<std::size_t>(workers.rank());
  std::vector<std::byte> out(size, std::byte(rank + 1));
  // The ends differ from the middle, so a piece in another place would show.
  if (size > 1) out.front() = out.back() = std::byte(100 + rank);
  std::vector<std::vector<std::byte>> in(count);
  std::vector<Workers::Sent> sent;
  std::vector<Workers::Received> received;
  for (std::size_t other = 0; other < count; ++other) {
    if (other == rank) continue;
    in[other].resize(size);
    sent.push_back({static_cast<int>(other), out});
    received.push_back({static_cast<int>(other), in[other]});
  }
  workers.exchange(1, sent, received);
  for (std::size_t other = 0; other < count; ++other) {
    if (other == rank || size < 2) continue;
    const std::vector<std::byte>& bytes = in[other];
    if (bytes.front() != std::byte(100 + other) || bytes.back() != std::byte(100 + other)) return false;
    if (!std::all_of(bytes.begin() + 1, bytes.end() - 1, [&](std::byte one) { return one == std::byte(other + 1); }))
      return false;
  }
  return true;
}

void compute(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  volatile double value = 1;
  while (std::chrono::steady_clock::now() < end) value = value * 1.0000001;
}

void train_a_copy() {
  keras::Sequential model({keras::Input({2}), keras::layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  for (int i = 0; i < 2; ++i)
    model.fit(Array(DType::float32, {8, 2}), Array(DType::float32, {8, 1}), {.batch_size = 2, .verbose = 0});
}

int run(const std::string& what, double seconds) {
  if (what == "copies") {
    train_a_copy();
    return 0;
  }
  const std::shared_ptr<Workers> workers = mpi_workers();
  const bool is_second = workers->rank() == 1;
  if (what == "sizes")
    for (const std::size_t size : {0UL, 1UL, 4096UL, 65'537UL, 1UL << 20, 1UL << 28}) {
      if (swap_bytes(*workers, size)) continue;
      std::cerr << "worker " << workers->rank() << " got other bytes than were sent, " << size << " of them\n";
      return 1;
    }
  swap_bytes(*workers, 8);
  if (what == "compute" && is_second) compute(seconds);
  if (what == "leave" && is_second) return 0;
  if (what == "throw" && is_second) {
    workers->give_up("its disk is full");
    throw Error("its disk is full");
  }
  if (what == "on") std::cout << "ready " << workers->rank() << ' ' << getpid() << std::endl;
  while (what == "on" || what == "leave" || what == "throw") swap_bytes(*workers, 1000);
  swap_bytes(*workers, 8);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count > 1 ? arguments[1] : "", count > 2 ? std::atoi(arguments[2]) : 0);
  } catch (const WorkerFailure& failure) {
    // As a program does that lets one worker speak.
    if (mpi_workers()->rank() == (failure.rank() == 0 ? 1 : 0)) std::cerr << failure.what() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
  }
  return 1;
}
