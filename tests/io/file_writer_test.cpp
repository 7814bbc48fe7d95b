// A file is written whole or not at all: whatever goes wrong, the old one stays and nothing else is left behind.
#include "io/file_writer.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

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
  EXPECT_EQ(message([] { write("/dev/null", "new"); }), "/dev/null: is no regular file; give another name");
}

// A limit on the size of files takes the place of a full disk.
TEST(FileWriter, SurvivesAFullDisk) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "the old one");
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string text = message([&] { write(path, std::string(100'000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(text, path + ": cannot be written: File too large; make room for it");
  EXPECT_EQ(content(path), "the old one");
  EXPECT_EQ(files_in(folder.path()), 1);
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
