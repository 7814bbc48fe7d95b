// Checkpoints in a folder: numbered files, each whole or not there at all, the last few kept.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "data/formats/safetensors.h"
#include "io/folder.h"

namespace pando::data {

// A safetensors file with an entry "sha256" in its metadata: the sum of all bytes of the file, where those of the sum
// itself count as '0'.
std::vector<std::byte> checkpoint_bytes(const Safetensors& contents);
// Throws Error naming `name` unless every byte is as it was written. The entry is not among the metadata.
Safetensors parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);

// checkpoint-00000042.safetensors: the highest number is the newest.
std::string checkpoint_name(std::int64_t number);

struct Checkpoint {
  std::string path;
  Safetensors contents;
};

// The folder of one run. It is held open: a run goes on writing into it wherever it is moved, and never into what takes
// its old name. Each file says of which run it is. All errors are Error, and name the folder or the file and the
// remedy.
class CheckpointFolder {
 public:
  // Makes the folder if it is not there, removes what killed runs left half written, and keeps other runs out while it
  // lives. `keep` is how many files there are at most.
  CheckpointFolder(const std::string& path, int keep);

  // In ascending order, whole or not.
  std::vector<std::int64_t> numbers() const;
  // The path of the newest, whole or not; empty if there is none.
  std::string newest_path() const;
  // The newest that is whole: this is its run from now on. `warn` is told why others are not. Throws if there are only
  // others, or files of another run among them.
  std::optional<Checkpoint> read_newest(const std::function<void(const std::string& problem)>& warn);
  // Writes the next and returns its path; then removes those that are not kept. If it throws, all old ones are there.
  // It throws, too, if another run has written into the folder, as it can where the file system has no locks.
  std::string write(const Safetensors& contents);
  // Whether the path that was given leads to another folder now, or to none.
  bool is_moved() const { return !folder_.is_at(path_); }
  // Where it is now, as far as the system tells.
  std::string path() const;

 private:
  std::string path_of(std::int64_t number) const { return path() + "/" + checkpoint_name(number); }
  Safetensors read(std::int64_t number) const;
  void check_same_run(std::int64_t newest) const;
  void remove_old(std::int64_t newest) const;

  std::string path_;
  int keep_;
  Folder folder_;
  // Random, and the same in all files of a run.
  std::string run_;
  // The files of this run, whole or not.
  std::set<std::int64_t> own_;
  std::int64_t last_number_ = 0;
  // They do not count among those that are kept.
  std::set<std::int64_t> damaged_;
};

}  // namespace pando::data
