// SPDX-License-Identifier: Apache-2.0
// Workers over an MPI of threads: messages of all sizes, and every way in which a worker can fail.
#include "comm/mpi_workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "comm/last_checkpoint.h"
#include "tests/comm/thread_mpi.h"

namespace pando {
namespace {

using namespace std::chrono_literals;

// Runs the function in a thread for each worker, when all have met.
void run_workers(int count, const MpiWorkers::Settings& settings, const std::function<void(MpiWorkers&)>& function) {
  std::vector<std::thread> threads;
  std::atomic<int> begun = 0;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      MpiWorkers workers(ThreadMpi::of(rank), settings);
      begun.fetch_add(1);
      while (begun.load() < count) std::this_thread::yield();
      function(workers);
    });
  for (std::thread& thread : threads) thread.join();
}

std::byte content(int from, int to, std::size_t i) {
  return std::byte(i * 7 + static_cast<std::size_t>(from * 3 + to));
}

// Every worker sends `size` bytes to every other.
void swap_bytes(Workers& workers, std::size_t size) {
  std::vector<std::vector<std::byte>> out, in;
  std::vector<Workers::Sent> sent;
  std::vector<Workers::Received> received;
  for (int other = 0; other < workers.count(); ++other) {
    std::vector<std::byte>& bytes = out.emplace_back(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = content(workers.rank(), other, i);
    in.emplace_back(size);
  }
  for (int other = 0; other < workers.count(); ++other) {
    if (other == workers.rank()) continue;
    sent.push_back({other, out[static_cast<std::size_t>(other)]});
    received.push_back({other, in[static_cast<std::size_t>(other)]});
  }
  workers.exchange(5, sent, received);
  for (const Workers::Received& one : received)
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(one.bytes[i], content(one.from, workers.rank(), i));
}

// Exchanges until that fails, and returns the failure.
std::string failure_of(Workers& workers) {
  try {
    while (true) {
      swap_bytes(workers, 4);
      std::this_thread::sleep_for(1ms);
    }
  } catch (const WorkerFailure& failure) {
    return (failure.is_silent() ? "silent " : "told ") + std::to_string(failure.rank()) + ": " + failure.what();
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(MpiWorkers, MessagesHaveAnySize) {
  ThreadMpi mpi(3);
  run_workers(3, {.most_bytes = 1000}, [](MpiWorkers& workers) {
    for (std::size_t size : {0, 1, 999, 1000, 1001, 2000, 70'001}) swap_bytes(workers, size);
  });
  EXPECT_EQ(mpi.largest_message(), 1000U) << "longer ones are sent in pieces";
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(mpi.end_of(rank), "finished");
}

TEST(MpiWorkers, ThreadsHaveChannelsOfTheirOwn) {
  ThreadMpi mpi(2);
  run_workers(2, {}, [](MpiWorkers& workers) {
    std::vector<std::thread> threads;
    for (int channel = 0; channel < 3; ++channel)
      threads.emplace_back([&, channel] {
        for (int i = 0; i < 50; ++i) {
          const int own = channel * 1000 + i, other = 1 - workers.rank();
          int found = 0;
          const Workers::Sent sent{other, std::as_bytes(std::span(&own, 1))};
          const Workers::Received received{other, std::as_writable_bytes(std::span(&found, 1))};
          workers.exchange(channel, {&sent, 1}, {&received, 1});
          EXPECT_EQ(found, own);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(MpiWorkers, AWorkerThatGivesUpEndsTheOthersWithItsWords) {
  ThreadMpi mpi(3);
  std::vector<std::string> failures(3);
  run_workers(3, {}, [&](MpiWorkers& workers) {
    if (workers.rank() == 1) workers.give_up("its data ended");
    failures[static_cast<std::size_t>(workers.rank())] = failure_of(workers);
  });
  const std::string words = words_about_checkpoint();
  EXPECT_EQ(failures[0], "told 1: worker 1 gave up: its data ended" + words);
  EXPECT_EQ(failures[1], "worker 1 cannot go on: its data ended");
  EXPECT_EQ(failures[2], "told 1: worker 1 gave up: its data ended" + words);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(mpi.end_of(rank), "aborted");
}

TEST(MpiWorkers, SilenceEndsAllAndNamesTheLastCheckpoint) {
  ThreadMpi mpi(3);
  std::vector<std::string> failures(3);
  note_checkpoint("run/checkpoint-00000012.safetensors");
  run_workers(3, {.patience = 2s}, [&](MpiWorkers& workers) {
    if (workers.rank() == 0) mpi.cut(1);
    failures[static_cast<std::size_t>(workers.rank())] = failure_of(workers);
  });
  const std::string expected =
      "silent 1: worker 2 has not heard from worker 1 for 2 s: it was stopped or cannot be reached "
      "(PANDO_WORKER_TIMEOUT sets the time); the last checkpoint is run/checkpoint-00000012.safetensors";
  EXPECT_EQ(failures[0], expected);
  EXPECT_EQ(failures[2], expected);
  // The other half of the cut network sees it in the same way.
  EXPECT_NE(failures[1].find("worker 1 has not heard from worker 0"), std::string::npos) << failures[1];
}

TEST(MpiWorkers, ErrorsOfMpiNameTheWorkerAndEndAll) {
  ThreadMpi mpi(2);
  std::vector<std::string> failures(2);
  run_workers(2, {}, [&](MpiWorkers& workers) {
    if (workers.rank() == 1) mpi.break_calls(1);
    failures[static_cast<std::size_t>(workers.rank())] = failure_of(workers);
  });
  const std::string text = "worker 1: MPI_Test failed: the network card is on fire";
  EXPECT_NE(failures[1].find(text), std::string::npos) << failures[1];
  EXPECT_TRUE(failures[0].starts_with("told 1: worker 1 gave up: " + text)) << failures[0];
}

TEST(MpiWorkers, AProgramThatEndsWhileOthersWaitIsNamed) {
  ThreadMpi mpi(2);
  std::string failure;
  run_workers(2, {}, [&](MpiWorkers& workers) {
    if (workers.rank() == 0) failure = failure_of(workers);
  });
  EXPECT_TRUE(failure.starts_with("silent 1: worker 1 ended its program while worker 0 still waits for it")) << failure;
}

TEST(MpiWorkers, AProgramThatComputesOnIsEndedAfterAFailure) {
  ThreadMpi mpi(2);
  testing::internal::CaptureStderr();
  run_workers(2, {.grace = 10ms}, [&](MpiWorkers& workers) {
    if (workers.rank() == 1) return workers.give_up("its data ended");
    while (mpi.end_of(0).empty()) std::this_thread::sleep_for(1ms);
  });
  EXPECT_EQ(mpi.end_of(0), "aborted");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("pando, worker 0: worker 1 gave up: its data ended")) << said;
}

TEST(PulseRecord, AWorkerThatWasStoppedItselfGivesTheOtherItsWholeTime) {
  PulseRecord::Clock::time_point now = {};
  PulseRecord record(10s, now);
  const auto passes = [&](PulseRecord::Clock::duration time) {
    now += time;
    return record.is_silent(now);
  };
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(passes(1s));
  EXPECT_TRUE(passes(1s));
  record.hear(now);
  EXPECT_FALSE(passes(1s));
  EXPECT_FALSE(passes(100s)) << "this worker was stopped";
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(passes(1s));
  EXPECT_TRUE(passes(1s));
}

}  // namespace
}  // namespace pando
