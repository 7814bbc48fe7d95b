// SPDX-License-Identifier: Apache-2.0
// Checkpoint files: whole or not at all, and every damage is found.
#include "model/checkpoint_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando::data {
namespace {

Safetensors small(float value) {
  Safetensors contents;
  contents.tensors = {{"weights/dense/kernel", Array::of<float>({value, 2, 3}, {3})},
                      {"callback/0/text", Array(DType::uint8, {5})}};
  contents.metadata = {{"run", "{\"sha256\": \"not this one\"}"}};
  return contents;
}

float value_of(const Safetensors& contents) { return contents.tensors.at(0).array.data<float>()[0]; }

std::vector<std::int64_t> numbers(std::initializer_list<std::int64_t> list) { return list; }

void ignore(const std::string&) {}

TEST(CheckpointFiles, AreReadAsTheyWereWritten) {
  const Safetensors read = parse_checkpoint(checkpoint_bytes(small(1)), "file");
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, "weights/dense/kernel");
  EXPECT_EQ(value_of(read), 1);
  EXPECT_EQ(read.metadata, small(1).metadata);
}

TEST(CheckpointFiles, AreSafetensorsForEverybodyElse) {
  const Safetensors read = parse_safetensors(checkpoint_bytes(small(1)), "file");
  EXPECT_EQ(value_of(read), 1);
  EXPECT_EQ(read.metadata.front().first, "sha256");
  EXPECT_EQ(read.metadata.front().second.size(), 64u);
}

TEST(CheckpointFiles, ShowEveryFlippedBit) {
  std::vector<std::byte> bytes = checkpoint_bytes(small(1));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_EQ(message([&] { parse_checkpoint(bytes, "file"); }),
              "file: is damaged or not a checkpoint; use another one")
        << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_EQ(value_of(parse_checkpoint(bytes, "file")), 1);
}

TEST(CheckpointFiles, ShowEveryTruncation) {
  std::vector<std::byte> bytes = checkpoint_bytes(small(1));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(message([&] { parse_checkpoint(std::span(bytes).first(size), "file"); }),
              "file: is damaged or not a checkpoint; use another one")
        << size;
  bytes.push_back(std::byte{0});
  EXPECT_EQ(message([&] { parse_checkpoint(bytes, "file"); }), "file: is damaged or not a checkpoint; use another one");
}

TEST(CheckpointFolder, KeepsTheNewest) {
  const TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path() + "/a/b/", 2);
  EXPECT_FALSE(folder.read_newest(ignore));
  EXPECT_EQ(folder.newest_path(), "");
  for (int i = 1; i <= 4; ++i) folder.write(small(static_cast<float>(i)));
  EXPECT_EQ(folder.numbers(), numbers({3, 4}));
  EXPECT_EQ(folder.newest_path(), temporary.path() + "/a/b/checkpoint-00000004.safetensors");
  EXPECT_EQ(value_of(folder.read_newest(ignore)->contents), 4);
}

TEST(CheckpointFolder, CountsOnFromWhatIsThere) {
  const TemporaryFolder temporary;
  CheckpointFolder(temporary.path(), 3).write(small(1));
  temporary.write("checkpoint-00000007.safetensors", "damaged");
  temporary.write("checkpoint-7.safetensors", "no checkpoint");
  temporary.write("checkpoint-00000008.safetensors.12345678.part", "half of it");
  CheckpointFolder folder(temporary.path(), 2);
  EXPECT_FALSE(std::filesystem::exists(temporary.path() + "/checkpoint-00000008.safetensors.12345678.part"));
  std::vector<std::string> problems;
  const std::optional<Checkpoint> newest = folder.read_newest([&](const auto& text) { problems.push_back(text); });
  EXPECT_EQ(value_of(newest->contents), 1);
  const std::string damaged = temporary.path() + "/checkpoint-00000007.safetensors";
  EXPECT_EQ(problems, std::vector<std::string>{damaged + ": is damaged or not a checkpoint; use another one"});
  // A damaged file does not count towards those that are kept.
  EXPECT_EQ(folder.write(small(2)), temporary.path() + "/checkpoint-00000008.safetensors");
  EXPECT_EQ(folder.numbers(), numbers({1, 7, 8}));
  folder.write(small(3));
  EXPECT_EQ(folder.numbers(), numbers({8, 9}));
}

TEST(CheckpointFolder, DoesNotStartAfreshOverDamagedOnes) {
  const TemporaryFolder temporary;
  temporary.write("checkpoint-00000001.safetensors", "damaged");
  CheckpointFolder folder(temporary.path(), 3);
  EXPECT_EQ(message([&] { folder.read_newest(ignore); }),
            temporary.path() + ": has only checkpoints that cannot be read; remove them to start afresh");
}

// The process that writes into the folder, as its file says.
std::string writer_in(const std::string& folder) {
  std::ifstream file(folder + "/" + WriterLock::file_name);
  std::string line;
  std::getline(file, line);
  EXPECT_TRUE(line.starts_with("process " + std::to_string(getpid()) + " on ")) << line;
  return line;
}

TEST(CheckpointFolder, IsForOneRunAtATime) {
  const TemporaryFolder temporary;
  {
    const CheckpointFolder folder(temporary.path(), 3);
    EXPECT_EQ(message([&] { CheckpointFolder(temporary.path(), 3); }),
              temporary.path() + ": is used for checkpoints by another run, " + writer_in(temporary.path()) +
                  "; wait until it ends, or give another folder");
  }
  CheckpointFolder(temporary.path(), 3).write(small(1));
}

TEST(CheckpointFolder, GoesWithItsFolderWhereverThatIsMoved) {
  const TemporaryFolder temporary;
  const std::string path = temporary.path() + "/run", moved = temporary.path() + "/moved";
  CheckpointFolder first(path, 1);
  first.write(small(1));
  EXPECT_FALSE(first.is_moved());
  std::filesystem::rename(path, moved);
  CheckpointFolder second(path, 1);
  second.write(small(7));
  EXPECT_TRUE(first.is_moved());
  EXPECT_EQ(first.write(small(2)), std::filesystem::canonical(moved).string() + "/checkpoint-00000002.safetensors");
  EXPECT_EQ(first.numbers(), numbers({2}));
  EXPECT_EQ(second.numbers(), numbers({1}));
  EXPECT_EQ(value_of(second.read_newest(ignore)->contents), 7);
  EXPECT_EQ(value_of(first.read_newest(ignore)->contents), 2);
}

TEST(CheckpointFolder, IsNotTheOneThatALinkPutsInItsPlace) {
  const TemporaryFolder temporary;
  const std::string path = temporary.path() + "/run";
  CheckpointFolder folder(path, 1);
  folder.write(small(1));
  std::filesystem::rename(path, temporary.path() + "/moved");
  temporary.write("other/checkpoint-00000000.safetensors", "of others");
  std::filesystem::create_directory_symlink("other", path);
  folder.write(small(2));
  EXPECT_TRUE(std::filesystem::exists(temporary.path() + "/other/checkpoint-00000000.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(temporary.path() + "/other/checkpoint-00000002.safetensors"));
}

TEST(CheckpointFolder, HasFilesOfOneRun) {
  const TemporaryFolder temporary, other;
  CheckpointFolder(temporary.path(), 3).write(small(1));
  CheckpointFolder(other.path(), 3).write(small(2));
  std::filesystem::copy(other.path() + "/checkpoint-00000001.safetensors",
                        temporary.path() + "/checkpoint-00000002.safetensors");
  CheckpointFolder folder(temporary.path(), 3);
  EXPECT_EQ(message([&] { folder.read_newest(ignore); }),
            temporary.path() +
                ": has checkpoints of two runs: checkpoint-00000001.safetensors is not of the run of "
                "checkpoint-00000002.safetensors; move those of one run to another folder");
}

// This happens if the file system has no locks.
TEST(CheckpointFolder, IsLeftToAnotherRunThatWritesIntoIt) {
  const TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path(), 1);
  folder.write(small(1));
  temporary.write("checkpoint-00000005.safetensors", "of another run");
  EXPECT_EQ(message([&] { folder.write(small(2)); }),
            temporary.path() +
                ": can no longer be used: another run has written checkpoint-00000005.safetensors into it; give each "
                "run its own folder");
  EXPECT_EQ(folder.numbers(), numbers({1, 5}));
}

TEST(CheckpointFolder, KeepsItsRunWhenItGoesOn) {
  const TemporaryFolder temporary;
  const auto run_in = [](const Safetensors& contents) { return contents.metadata.back(); };
  std::pair<std::string, std::string> first;
  {
    CheckpointFolder folder(temporary.path(), 3);
    folder.write(small(1));
    first = run_in(folder.read_newest(ignore)->contents);
  }
  CheckpointFolder folder(temporary.path(), 3);
  folder.read_newest(ignore);
  folder.write(small(2));
  EXPECT_EQ(first.first, "run_id");
  EXPECT_EQ(first.second.size(), 32u);
  EXPECT_EQ(run_in(folder.read_newest(ignore)->contents), first);
}

// A limit on the size of files takes the place of a full disk.
TEST(CheckpointFolder, KeepsTheOldOnesOnAFullDisk) {
  const TemporaryFolder temporary;
  CheckpointFolder folder(temporary.path(), 1);
  folder.write(small(1));
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tiny = {.rlim_cur = 100, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tiny);
  const std::string text = message([&] { folder.write(small(2)); });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(text, temporary.path() +
                      "/checkpoint-00000002.safetensors: cannot be written: File too large; raise the limit on the "
                      "size of files (ulimit -f)");
  EXPECT_EQ(value_of(folder.read_newest(ignore)->contents), 1);
  EXPECT_EQ(folder.write(small(2)), temporary.path() + "/checkpoint-00000002.safetensors");
  EXPECT_EQ(folder.numbers(), numbers({2}));
}

}  // namespace
}  // namespace pando::data
