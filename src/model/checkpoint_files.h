// SPDX-License-Identifier: Apache-2.0
// Checkpoints in a folder: numbered files, each whole or not there at all, the last few kept.
#pragma once
#include <pando/base/function.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "data/formats/safetensors.h"
#include "io/folder.h"
#include "io/json.h"
#include "io/writer_lock.h"

namespace pando::data {

// A safetensors file with an entry "sha256" in its metadata: the checksum of all bytes of the file, with those of the
// checksum itself taken as '0'.
std::vector<std::byte> checkpoint_bytes(const Safetensors& contents);
// Throws Error naming `name` unless every byte is as it was written. The entry is not among the metadata.
Safetensors parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);

// The whole file at once; if it throws, an old file of this name is unchanged.
void write_checkpoint(const std::string& path, const Safetensors& contents);
Safetensors read_checkpoint(const std::string& path);

// What the checkpoints of every style have: the name of their format, and the state of the run.
std::vector<std::pair<std::string, std::string>> checkpoint_metadata(const std::string& format, const Json& run);
// The state of the run. Throws Error naming `name` if it is missing, or if the format is another one.
Json checkpoint_run(const Safetensors& contents, const std::string& format, const std::string& name);
// The first difference between arrays of two runs: the others often follow from it. Empty if there is none.
std::string array_difference(const char* what, const std::vector<NamedArray>& there,
                             const std::vector<NamedArray>& here);

// checkpoint-00000042.safetensors: the highest number is the newest.
std::string checkpoint_name(std::int64_t number);

struct Checkpoint {
  std::string path;
  Safetensors contents;
};

// The folder of one run. It is held open: the run keeps writing into it even if it is moved, and never into another
// folder that takes its old name. Each file names its run. All errors are Error, and name the folder or the file and
// the remedy.
class CheckpointFolder {
 public:
  // Makes the folder if it does not exist, removes half-written files of killed runs, and keeps other runs out while it
  // lives. At most `keep` files are kept.
  CheckpointFolder(const std::string& path, int keep);

  // In ascending order, whole or not.
  std::vector<std::int64_t> numbers() const;
  // The path of the newest, whole or not; empty if there is none.
  std::string newest_path() const;
  // Reads the newest whole checkpoint; this folder then continues its run. `warn` is called with the reason for each
  // checkpoint that is not whole. Throws if none is whole, or if there are files of two runs.
  std::optional<Checkpoint> read_newest(const Function<void(const std::string& problem)>& warn);
  // Writes the next checkpoint and returns its path, then removes those beyond `keep`. If it throws, all old ones
  // remain. It also throws if another run has written into the folder, which can happen if the file system has no
  // locks.
  std::string write(const Safetensors& contents);
  // Whether the path that was given leads to another folder now, or to none.
  bool is_moved() const { return !folder_.is_at(path_); }
  // Where the folder is now, as far as the system knows.
  std::string path() const;

 private:
  std::string path_of(std::int64_t number) const { return path() + "/" + checkpoint_name(number); }
  [[noreturn]] void refuse_second_run() const;
  Safetensors read(std::int64_t number) const;
  void check_same_run(std::int64_t newest) const;
  void remove_old(std::int64_t newest) const;

  std::string path_;
  int keep_;
  Folder folder_;
  std::optional<WriterLock> lock_;
  // Random, and the same in all files of a run.
  std::string run_;
  // The files of this run, whole or not.
  std::set<std::int64_t> own_;
  std::int64_t last_number_ = 0;
  // They do not count among those that are kept.
  std::set<std::int64_t> damaged_;
};

}  // namespace pando::data
