// Checkpoints in a folder: numbered files, each whole or not there at all, the last few kept.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "data/safetensors.h"

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

// Of one run at a time. All errors are Error, and name the folder or the file and the remedy.
class CheckpointFolder {
 public:
  // Makes the folder if it is not there, removes what killed runs left half written, and keeps other runs out while it
  // lives. `keep` is how many files there are at most.
  CheckpointFolder(const std::string& path, int keep);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // In ascending order, whole or not.
  std::vector<std::int64_t> numbers() const;
  // The path of the newest, whole or not; empty if there is none.
  std::string newest_path() const;
  // The newest that is whole. `warn` is told why others are not. Throws if there are only others.
  std::optional<Checkpoint> read_newest(const std::function<void(const std::string& problem)>& warn);
  // Writes the next and returns its path; then removes those that are not kept. If it throws, all old ones are there.
  std::string write(const Safetensors& contents);

 private:
  std::string path_of(std::int64_t number) const { return path_ + "/" + checkpoint_name(number); }
  void remove_half_written() const;
  void remove_old(std::int64_t newest) const;

  std::string path_;
  int keep_;
  int descriptor_ = -1;
  // They do not count among those that are kept.
  std::set<std::int64_t> damaged_;
  std::int64_t last_number_ = 0;
};

}  // namespace pando::data
