// SPDX-License-Identifier: Apache-2.0
// Interrupts during fit, Ctrl-C, SIGTERM and SIGHUP: the running execution ends, callbacks are told, a checkpoint is
// written, and the process ends as the shell expects.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "tests/contents.h"
#include "tests/data/temporary_folder.h"
#include "tests/keras/checkpoint_state.h"
#include "model/interrupt_delay.h"

using namespace pando;
using namespace pando::keras;

// The thread sanitizer delivers a signal only when the thread calls something, which one that hangs does not.
#ifdef PANDO_THREAD_SANITIZER
#define SKIP_UNDER_THE_THREAD_SANITIZER() GTEST_SKIP() << "signals come late under the thread sanitizer"
#else
#define SKIP_UNDER_THE_THREAD_SANITIZER() static_cast<void>(0)
#endif

namespace {

// Without what a shell or a test runner may have set to be ignored.
pid_t start(std::vector<std::string> arguments, const std::string& output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  sigaddset(&interrupts, SIGHUP);
  posix_spawnattr_setsigdefault(&attributes, &interrupts);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t process = 0;
  EXPECT_EQ(posix_spawn(&process, words[0], &files, &attributes, words.data(), environ), 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return process;
}

int status_of(pid_t process) {
  int status = 0;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return status;
}

template <class Condition>
void wait_until(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// The last checkpoint in a folder; empty if there is none.
std::string newest(const std::string& folder) {
  std::string last;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent))
    if (entry.path().filename().string().starts_with("checkpoint-")) last = std::max(last, entry.path().string());
  return last;
}

class Interrupt : public testing::TestWithParam<int> {};

TEST_P(Interrupt, EndsTrainingAfterTheRunningExecution) {
  const TemporaryFolder folder;
  const std::string output = folder.path() + "/output";
  const pid_t process = start({PANDO_TRAIN_PROGRAM, "endless"}, output);
  wait_until([&] { return contents(output).find("Epoch 3/") != std::string::npos; });
  kill(process, GetParam());
  const int status = status_of(process);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
  const std::string text = contents(output);
  EXPECT_NE(text.find("The end of training was told."), std::string::npos) << text;
  EXPECT_NE(text.find("Interrupted: training ended after update "), std::string::npos) << text;
}

TEST_P(Interrupt, ASecondTimeEndsTheProcessAtOnce) {
  const TemporaryFolder folder;
  const std::string output = folder.path() + "/output";
  const pid_t process = start({PANDO_TRAIN_PROGRAM, "hanging"}, output);
  wait_until([&] { return contents(output).find("Hanging.") != std::string::npos; });
  kill(process, GetParam());
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(waitpid(process, nullptr, WNOHANG), 0);
  kill(process, GetParam());
  const int status = status_of(process);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
  EXPECT_EQ(contents(output).find("The end of training was told."), std::string::npos);
}

// Signals that end the process after the execution, and one that ends it at once.
class Ended : public testing::TestWithParam<int> {};

TEST_P(Ended, LosesNothingWithCheckpoints) {
  const TemporaryFolder whole, broken;
  const auto run = [](const TemporaryFolder& folder, const char* seed) {
    return start({PANDO_KILLED_RUN, folder.path(), seed, "6", "46"}, folder.path() + "/output");
  };
  EXPECT_EQ(status_of(run(whole, "1")), 0);
  const pid_t process = run(broken, "1");
  const std::string checkpoints = broken.path() + "/checkpoints/";
  wait_until([&] { return newest(checkpoints) >= checkpoints + "checkpoint-00000005.safetensors"; });
  kill(process, GetParam());
  const int status = status_of(process);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
  EXPECT_FALSE(std::filesystem::exists(broken.path() + "/history.txt"));
  EXPECT_EQ(status_of(run(broken, "2")), 0);
  EXPECT_TRUE(checkpoint_state(newest(checkpoints)) == checkpoint_state(newest(whole.path() + "/checkpoints")));
  for (const char* file : {"/history.txt", "/log.csv", "/output"})
    EXPECT_EQ(contents(broken.path() + file), contents(whole.path() + file));
}

std::string name_of_signal(const testing::TestParamInfo<int>& signal) {
  return std::string("SIG") + sigabbrev_np(signal.param);
}
INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, testing::Values(SIGINT, SIGTERM, SIGHUP), name_of_signal);
INSTANTIATE_TEST_SUITE_P(Signals, Ended, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGKILL), name_of_signal);

// `timeout` sends one signal only.
TEST(Interrupts, EndTheProcessThoughTheRunHangs) {
  const TemporaryFolder folder;
  const std::string output = folder.path() + "/output";
  const pid_t process = start({PANDO_TRAIN_PROGRAM, "hanging"}, output);
  wait_until([&] { return contents(output).find("Hanging.") != std::string::npos; });
  kill(process, SIGTERM);
  const int status = status_of(process);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_NE(contents(output).find("\nInterrupted: the execution does not end; the process ends without it.\n"),
            std::string::npos);
}

using std::chrono::milliseconds;
constexpr milliseconds short_grace(50), long_sleep(400);

void sleep(milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) std::this_thread::sleep_until(end);
}

TEST(Interrupts, EndTheProcessAfterTheGracePeriodWhicheverComes) {
  SKIP_UNDER_THE_THREAD_SANITIZER();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto hang = [&] {
      std::signal(signal, SIG_DFL);
      InterruptDelay delay(short_grace);
      raise(signal);
      for (;;) sleep(long_sleep);
    };
    EXPECT_EXIT(hang(), testing::KilledBySignal(signal), "Interrupted: the execution does not end");
  }
}

TEST(Interrupts, LeaveARunThatWasToldOfThemAllTheTimeItNeeds) {
  SKIP_UNDER_THE_THREAD_SANITIZER();
  const auto end_slowly = [] {
    std::signal(SIGTERM, SIG_DFL);
    InterruptDelay delay(short_grace);
    raise(SIGTERM);
    if (!delay.requested()) std::_Exit(1);
    sleep(long_sleep);
    std::_Exit(42);
  };
  EXPECT_EXIT(end_slowly(), testing::ExitedWithCode(42), "^$");
}

TEST(Interrupts, LeaveASlowExecutionTwiceTheTimeOfTheLongest) {
  SKIP_UNDER_THE_THREAD_SANITIZER();
  const auto run_slowly = [] {
    std::signal(SIGTERM, SIG_DFL);
    InterruptDelay delay(short_grace);
    delay.allow_for(std::chrono::hours(1));
    delay.allow_for(milliseconds(1));
    raise(SIGTERM);
    sleep(long_sleep);
    std::_Exit(delay.requested() ? 42 : 1);
  };
  EXPECT_EXIT(run_slowly(), testing::ExitedWithCode(42), "^$");
}

// Two models in two threads: one ends its run, the other hangs.
TEST(Interrupts, EndTheProcessWhereOneOfTwoRunsHangs) {
  SKIP_UNDER_THE_THREAD_SANITIZER();
  const auto hang_beside = [] {
    std::signal(SIGTERM, SIG_DFL);
    InterruptDelay hanging(short_grace);
    {
      InterruptDelay ending;
      raise(SIGTERM);
      if (!ending.requested()) std::_Exit(1);
    }
    for (;;) sleep(long_sleep);
  };
  EXPECT_EXIT(hang_beside(), testing::KilledBySignal(SIGTERM), "the execution does not end");
}

volatile std::sig_atomic_t handled = 0;
void handle(int signal) { handled = signal; }

// A fit of 10 epochs that is interrupted in the second; returns how many epochs were done.
std::size_t interrupted_fit(int signal, const std::string& directory, const std::function<void()>& at_end = {}) {
  const Array x = arange(16).astype(DType::float32).reshape({16, 1}), y = x;
  Sequential model({layers::Dense(1, {.name = "line"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.001}), .loss = "mse"});
  const auto interrupt = [&](std::int64_t epoch) {
    if (epoch == 1) raise(signal);
  };
  const History history =
      model.fit(x, y,
                {.batch_size = 4,
                 .epochs = 10,
                 .callbacks = {callbacks::LambdaCallback({.on_epoch_begin = interrupt, .on_train_end = at_end})},
                 .checkpoint = {.directory = directory}});
  return history.epochs().size();
}

TEST(Interrupts, ReachAHandlerOfTheProgramAfterFit) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    handled = 0;
    const auto before = std::signal(signal, handle);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(interrupted_fit(signal, folder.path() + "/run", [] { EXPECT_EQ(handled, 0); }), 1u);
    testing::internal::GetCapturedStdout();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "Interrupted: training ended after update 5; " +
                                                          newest(folder.path() + "/run") +
                                                          " holds everything, run again with resume to go on.\n");
    EXPECT_EQ(handled, signal);
    EXPECT_EQ(std::signal(signal, before), handle);
  }
}

TEST(Interrupts, SayThatACheckpointIsMissing) {
  const TemporaryFolder folder;
  const auto before = std::signal(SIGINT, handle);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const std::string directory = folder.path() + "/run";
  // The folder goes away when it can no longer be noticed but by the last write.
  const Array x = arange(16).astype(DType::float32).reshape({16, 1});
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.001}), .loss = "mse"});
  model.fit(x, x,
            {.batch_size = 4,
             .epochs = 10,
             .callbacks = {callbacks::LambdaCallback({.on_epoch_begin =
                                                          [&](std::int64_t) {
                                                            std::filesystem::remove_all(directory);
                                                            raise(SIGINT);
                                                          }})},
             .checkpoint = {.directory = directory}});
  std::signal(SIGINT, before);
  testing::internal::GetCapturedStdout();
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("Interrupted: training ended after update 1, which is in no checkpoint, and there is none: " +
                      directory + "/checkpoint-00000001.safetensors: cannot be written: No such file or directory"),
            std::string::npos)
      << told;
}

TEST(Interrupts, ThatAreIgnoredStayIgnored) {
  const TemporaryFolder folder;
  const auto before = std::signal(SIGINT, SIG_IGN);
  testing::internal::CaptureStdout();
  EXPECT_EQ(interrupted_fit(SIGINT, folder.path() + "/run"), 10u);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::signal(SIGINT, before), SIG_IGN);
}

}  // namespace
