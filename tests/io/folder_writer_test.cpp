// SPDX-License-Identifier: Apache-2.0
// A folder is replaced whole or not at all.
#include "io/folder_writer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "io/file_writer.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

class FolderWriterTest : public testing::Test {
 protected:
  static void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string get(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What is in the test's folder.
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      list.push_back(entry.path().filename().string());
    std::sort(list.begin(), list.end());
    return list;
  }

  TemporaryFolder folder;
  const std::string path = folder.path() + "/model";
};

TEST_F(FolderWriterTest, MakesTheFolderAndThoseOnTheWayToIt) {
  const std::string deep = folder.path() + "/runs/1/model/";
  FolderWriter writer(deep, {"a"});
  put(writer.file("a"), "new");
  EXPECT_FALSE(std::filesystem::exists(deep));
  writer.commit();
  EXPECT_EQ(get(deep + "a"), "new");
}

TEST_F(FolderWriterTest, ReplacesAnOldOne) {
  folder.write("model/a", "old");
  folder.write("model/b", "old");
  FolderWriter writer(path, {"a", "b"});
  put(writer.file("a"), "new");
  EXPECT_EQ(get(path + "/a"), "old");
  writer.commit();
  EXPECT_EQ(get(path + "/a"), "new");
  EXPECT_FALSE(std::filesystem::exists(path + "/b"));
}

TEST_F(FolderWriterTest, LeavesNothingBehind) {
  folder.write("model/a", "old");
  {
    FolderWriter writer(path, {"a"});
    put(writer.file("a"), "new");
  }
  EXPECT_EQ(names(), std::vector<std::string>{"model"});
  EXPECT_EQ(get(path + "/a"), "old");
  for (int i = 0; i < 2; ++i) {
    FolderWriter writer(path, {"a"});
    put(writer.file("a"), "new");
    writer.commit();
  }
  EXPECT_EQ(names(), std::vector<std::string>{"model"});
}

TEST_F(FolderWriterTest, RemovesWhatKilledProcessesLeft) {
  folder.write("model/a", "old");
  const auto write_and_die = [&](const std::string& of) {
    const pid_t child = fork();
    if (child == 0) {
      FolderWriter writer(of, {"a"});
      put(writer.file("a"), "new");
      const FileWriter half(writer.file("a"));
      kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
  };
  write_and_die(path);
  write_and_die(folder.path() + "/model2");
  folder.write("model.01234567.part/notes.txt", "mine");
  folder.write("model.part/a", "mine");
  EXPECT_EQ(names().size(), 5u);
  FolderWriter other(path, {"a"});
  put(other.file("a"), "of another");
  {
    FolderWriter writer(path, {"a"});
    put(writer.file("a"), "new");
    writer.commit();
  }
  EXPECT_EQ(get(path + "/a"), "new");
  EXPECT_EQ(get(folder.path() + "/model.01234567.part/notes.txt"), "mine");
  // Those two, what another file's process left, and the one that is being written.
  EXPECT_EQ(names().size(), 5u);
  other.commit();
  EXPECT_EQ(get(path + "/a"), "of another");
}

TEST_F(FolderWriterTest, LosesNothingThatIsPutIntoTheOldOneMeanwhile) {
  folder.write("model/a", "old");
  {
    FolderWriter writer(path, {"a"});
    put(writer.file("a"), "new");
    folder.write("model/notes.txt", "mine");
    writer.commit();
  }
  EXPECT_EQ(get(path + "/a"), "new");
  ASSERT_EQ(names().size(), 2u);
  EXPECT_EQ(get(folder.path() + "/" + names()[1] + "/notes.txt"), "mine");
}

TEST_F(FolderWriterTest, KeepsALinkAndThePermissions) {
  folder.write("real/a", "old");
  std::filesystem::permissions(folder.path() + "/real", std::filesystem::perms(0750));
  std::filesystem::create_directory_symlink("real", path);
  FolderWriter writer(path, {"a"});
  put(writer.file("a"), "new");
  writer.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_EQ(get(folder.path() + "/real/a"), "new");
  EXPECT_EQ(std::filesystem::status(folder.path() + "/real").permissions(), std::filesystem::perms(0750));
}

TEST_F(FolderWriterTest, RefusesToLoseAnythingElse) {
  folder.write("model/a", "old");
  folder.write("model/notes.txt", "mine");
  EXPECT_EQ(message([&] { FolderWriter(path, {"a"}); }),
            path + ": holds 'notes.txt', which would be lost; give the name of another folder");
  EXPECT_EQ(get(path + "/notes.txt"), "mine");
  const std::string file = folder.write("file", "x");
  EXPECT_EQ(message([&] { FolderWriter(file, {"a"}); }), file + ": is not a folder; give another name");
  EXPECT_EQ(message([&] { FolderWriter("", {"a"}); }), "'': is not the name of a folder; give one");
  EXPECT_EQ(message([&] { FolderWriter(file + "/model", {"a"}); }),
            file + "/model: cannot be written: Not a directory; check its folder and permissions");
}

}  // namespace
}  // namespace pando
