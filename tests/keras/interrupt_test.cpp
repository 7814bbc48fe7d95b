// Ctrl-C during fit: the running execution ends, callbacks are told, and the process ends as the shell expects.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Without what a shell or a test runner may have set to be ignored.
pid_t start(const char* program, const char* argument, const std::string& output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &interrupt);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  char* words[] = {const_cast<char*>(program), const_cast<char*>(argument), nullptr};
  pid_t process = 0;
  EXPECT_EQ(posix_spawn(&process, program, &files, &attributes, words, environ), 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return process;
}

TEST(CtrlC, EndsTrainingAfterTheRunningExecution) {
  const std::string output = testing::TempDir() + "interrupted.txt";
  const pid_t process = start(PANDO_TRAIN_PROGRAM, "endless", output);
  while (contents(output).find("Epoch 3/") == std::string::npos) {
    ASSERT_EQ(waitpid(process, nullptr, WNOHANG), 0) << contents(output);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(process, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  const std::string text = contents(output);
  EXPECT_NE(text.find("The end of training was told."), std::string::npos) << text;
  EXPECT_NE(text.find("Interrupted: training ended after update "), std::string::npos) << text;
}

}  // namespace
