// SPDX-License-Identifier: Apache-2.0
// A file is written whole or not at all: whatever goes wrong, the old one stays and nothing else is left behind.
#include "io/file_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const std::string& path, const std::string& text) {
  FileWriter writer(path);
  writer.write(std::as_bytes(std::span(text)));
  writer.commit();
}

int files_in(const std::string& folder) {
  int count = 0;
  for (const auto& ignored : std::filesystem::directory_iterator(folder)) count += !ignored.path().empty();
  return count;
}

TEST(FileWriter, ReplacesTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "the old one");
  chmod(path.c_str(), 0600);
  write(path, "new");
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(FileWriter, LeavesTheOldFileWhenItIsAbandoned) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "the old one");
  {
    FileWriter writer(path);
    writer.write(std::as_bytes(std::span("half of the n")));
  }
  EXPECT_EQ(content(path), "the old one");
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(FileWriter, FollowsLinks) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "the old one"), link = folder.path() + "/link";
  std::filesystem::create_symlink("file", link);
  write(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(content(path), "new");
}

TEST(FileWriter, SaysWhatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string absent = folder.path() + "/absent/file";
  EXPECT_EQ(message([&] { write(absent, "new"); }),
            absent + ": cannot be written: No such file or directory; check its folder and permissions");
  EXPECT_EQ(message([&] { write(folder.path(), "new"); }),
            folder.path() + ": cannot be written: Is a directory; check its folder and permissions");
  EXPECT_EQ(message([] { write("/dev/null", "new"); }), "/dev/null: is not a regular file; give another name");
}

// With the signal as a program has it that says nothing about it: it would end the program.
TEST(FileWriter, SurvivesALimitOnTheSizeOfFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "the old one");
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = message([&] { write(path, std::string(100'000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(text, path + ": cannot be written: File too large; raise the limit on the size of files (ulimit -f)");
  EXPECT_EQ(content(path), "the old one");
  EXPECT_EQ(files_in(folder.path()), 1);
}

// Begins to write the file in another process, which is killed.
void write_and_die(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    FileWriter writer(path);
    writer.write(std::as_bytes(std::span("half of it")));
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
}

TEST(FileWriter, RemovesWhatKilledProcessesLeft) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  write_and_die(path);
  write_and_die(folder.path() + "/file2");
  write_and_die(folder.path() + "/fil");
  EXPECT_EQ(files_in(folder.path()), 3);
  // A leftover of another file, one of another user, and a link.
  folder.write("file.part", "mine");
  folder.write("file.backup.part", "mine");
  folder.write("file.12345678.part.old", "mine");
  const std::string victim = folder.write("victim", "mine");
  std::filesystem::create_symlink("victim", folder.path() + "/file.01234567.part");
  write(path, "new");
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(content(victim), "mine");
  EXPECT_EQ(files_in(folder.path()), 8);
}

TEST(FileWriter, LeavesToOthersWhatTheyAreWriting) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/file", last = "the last";
  FileWriter other(path);
  write(path, "the first");
  write(path, "the second");
  other.write(std::as_bytes(std::span(last)));
  other.commit();
  EXPECT_EQ(content(path), last);
  EXPECT_EQ(files_in(folder.path()), 1);
}

TEST(FileWriter, StaysInItsFolderWhereverThatIsMoved) {
  const TemporaryFolder folder;
  folder.write("run/file", "old");
  folder.write("other/file", "of others");
  const Folder run(folder.path() + "/run");
  FileWriter writer(run, "file", folder.path() + "/run/file");
  std::filesystem::rename(folder.path() + "/run", folder.path() + "/moved");
  std::filesystem::create_directory_symlink("other", folder.path() + "/run");
  writer.write(std::as_bytes(std::span("new", 3)));
  writer.commit();
  EXPECT_EQ(content(folder.path() + "/moved/file"), "new");
  EXPECT_EQ(content(folder.path() + "/other/file"), "of others");
  EXPECT_FALSE(run.is_at(folder.path() + "/run"));
  EXPECT_EQ(run.current_path(), std::filesystem::canonical(folder.path() + "/moved"));
}

// A message must not end up in the file.
TEST(FileWriter, IsNeverAStandardStream) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/file";
  const auto in_a_child = [&] {
    for (const int stream : {0, 1, 2}) close(stream);
    FileWriter writer(path);
    std::fputs("Warning: the disk is full.\n", stderr);
    writer.commit();
    std::_Exit(42);
  };
  EXPECT_EXIT(in_a_child(), testing::ExitedWithCode(42), "");
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(content(path), "");
}

#ifndef PANDO_WITH_ZLIB
TEST(FileWriter, SaysThatGzipIsNotBuiltIn) {
  EXPECT_EQ(message([] { FileWriter::packing_for("images.gz"); }),
            "images.gz: cannot be gzipped: this Pando was built without zlib; give a name that does not end in .gz, or "
            "build Pando with zlib1g-dev");
}
#endif

}  // namespace
}  // namespace pando
