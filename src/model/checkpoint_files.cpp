// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/notice.h"
#include "io/byte_store.h"
#include "io/file_writer.h"
#include "io/leftovers.h"
#include "io/sha256.h"

namespace pando::data {

namespace {

constexpr std::string_view prefix = "checkpoint-", ending = ".safetensors";
constexpr const char *format_entry = "format", *state_entry = "run", *run_entry = "run_id";
constexpr std::size_t sum_length = 64, most_digits = 15;
// As it is in the header; within a string the quotes would be escaped.
constexpr std::string_view sum_entry = "\"sha256\": \"";

// The place of the sum; nothing if there is none.
std::optional<std::size_t> sum_place(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t found = text.find(sum_entry);
  if (found == std::string_view::npos || text.size() - found < sum_entry.size() + sum_length) return std::nullopt;
  return found + sum_entry.size();
}

// Nothing for a file that is not a checkpoint.
std::optional<std::int64_t> number_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(ending)) return std::nullopt;
  const std::string_view digits =
      std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - ending.size());
  if (digits.size() > most_digits) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || checkpoint_name(number) != name) return std::nullopt;
  return number;
}

// 32 hexadecimal digits.
std::string random_run() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::vector<std::byte> bytes_of(const ByteStore& store) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(store.size()));
  bytes.resize(store.read(0, bytes));
  return bytes;
}

std::string described(const NamedArray& array) {
  return fmt::format("'{}', {}{}", array.name, name(array.array.dtype()), to_string(array.array.shape()));
}

// Empty if the file does not say.
std::string run_of(const std::vector<std::pair<std::string, std::string>>& metadata) {
  for (const auto& [name, text] : metadata)
    if (name == run_entry) return text;
  return "";
}

}  // namespace

std::vector<std::byte> checkpoint_bytes(const Safetensors& contents) {
  Safetensors with_sum = contents;
  with_sum.metadata.insert(with_sum.metadata.begin(), {"sha256", std::string(sum_length, '0')});
  std::vector<std::byte> bytes = safetensors_bytes(with_sum);
  const std::string sum = sha256(bytes);
  std::memcpy(bytes.data() + sum_place(bytes).value(), sum.data(), sum_length);
  return bytes;
}

Safetensors parse_checkpoint(std::span<const std::byte> bytes, const std::string& name) {
  const auto fail = [&] { throw_file_error(name, "is damaged or not a checkpoint", "use another one"); };
  const std::optional<std::size_t> place = sum_place(bytes);
  if (!place) fail();
  std::vector<std::byte> blanked(bytes.begin(), bytes.end());
  std::fill_n(blanked.begin() + static_cast<std::ptrdiff_t>(*place), sum_length, std::byte{'0'});
  if (const std::string sum = sha256(blanked); std::memcmp(bytes.data() + *place, sum.data(), sum_length) != 0) fail();
  Safetensors contents = parse_safetensors(bytes, name);
  std::erase_if(contents.metadata, [](const auto& entry) { return entry.first == "sha256"; });
  return contents;
}

void write_checkpoint(const std::string& path, const Safetensors& contents) {
  FileWriter file(path);
  file.write(checkpoint_bytes(contents));
  file.commit();
}

Safetensors read_checkpoint(const std::string& path) { return parse_checkpoint(bytes_of(ByteStore(path)), path); }

std::vector<std::pair<std::string, std::string>> checkpoint_metadata(const std::string& format, const Json& run) {
  return {{format_entry, format}, {state_entry, run.text()}};
}

Json checkpoint_run(const Safetensors& contents, const std::string& format, const std::string& name) {
  const auto entry = [&](const std::string& key) -> const std::string& {
    for (const auto& [known, text] : contents.metadata)
      if (known == key) return text;
    throw_file_error(name, fmt::format("has no '{}' and is not a checkpoint", key), "use another one");
  };
  if (entry(format_entry) != format)
    throw_file_error(name, fmt::format("is a '{}', and a '{}' is needed", entry(format_entry), format),
                     "give it to the program that wrote it");
  try {
    return Json::parse(entry(state_entry), "its state");
  } catch (const Error& error) {
    throw_file_error(name, fmt::format("is not a checkpoint: {}", error.what()), "use another one");
  }
}

std::string array_difference(const char* what, const std::vector<NamedArray>& there,
                             const std::vector<NamedArray>& here) {
  if (there.size() != here.size())
    return fmt::format("there are {} {} there but {} here", there.size(), what, here.size());
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::string a = described(there[i]), b = described(here[i]);
    if (a != b) return fmt::format("the {} have {} there but {} here", what, a, b);
  }
  return "";
}

std::string checkpoint_name(std::int64_t number) { return fmt::format("{}{:08}{}", prefix, number, ending); }

CheckpointFolder::CheckpointFolder(const std::string& path, int keep) : path_(path), keep_(keep), run_(random_run()) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  const auto fail = [&](int error) {
    throw_file_error(path_, fmt::format("cannot be used for checkpoints: {}", std::strerror(error)),
                     "give a folder that can be written");
  };
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) fail(error.value());
  folder_ = Folder(path_);
  if (!folder_.is_open() || faccessat(folder_.descriptor(), ".", R_OK | W_OK | X_OK, 0) != 0) fail(errno);
  lock_.emplace(folder_);
  if (lock_->is_taken()) refuse_second_run();
  if (!lock_->is_ours())
    warn("checkpoints", fmt::format("{}/{}: cannot be written: {}; a second run that uses the folder would not "
                                    "be refused, and the two would disturb each other.",
                                    path_, WriterLock::file_name, lock_->problem()));
  sweep_files(folder_, [](std::string_view name) { return name.starts_with(prefix); });
  for (const std::int64_t number : numbers()) {
    own_.insert(number);
    last_number_ = number;
  }
}

void CheckpointFolder::refuse_second_run() const {
  const std::string far = fmt::format(", remove {}/{} if that process is gone", path_, WriterLock::file_name);
  throw_file_error(path_,
                   fmt::format("is used for checkpoints by another run, {}",
                               lock_->owner().empty() ? "which is just beginning" : lock_->owner()),
                   fmt::format("wait until it ends{}, or give another folder", lock_->is_far() ? far : ""));
}

std::vector<std::int64_t> CheckpointFolder::numbers() const {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : folder_.names())
    if (const std::optional<std::int64_t> number = number_of(name)) numbers.push_back(*number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string CheckpointFolder::newest_path() const {
  const std::vector<std::int64_t> all = numbers();
  return all.empty() ? "" : path_of(all.back());
}

std::string CheckpointFolder::path() const {
  if (!is_moved()) return path_;
  const std::string now = folder_.current_path();
  return now.empty() ? path_ : now;
}

Safetensors CheckpointFolder::read(std::int64_t number) const {
  const std::string path = path_of(number);
  return parse_checkpoint(bytes_of(ByteStore(folder_, checkpoint_name(number), path)), path);
}

std::optional<Checkpoint> CheckpointFolder::read_newest(const Function<void(const std::string& problem)>& warn) {
  const std::vector<std::int64_t> all = numbers();
  std::optional<Safetensors> contents;
  for (auto number = all.rbegin(); number != all.rend(); ++number) {
    try {
      contents = read(*number);
    } catch (const Error& error) {
      damaged_.insert(*number);
      warn(error.what());
      continue;
    }
    if (const std::string run = run_of(contents->metadata); !run.empty()) run_ = run;
    check_same_run(*number);
    return Checkpoint{path_of(*number), std::move(*contents)};
  }
  if (!all.empty()) throw_file_error(path_, "has only checkpoints that cannot be read", "remove them to start afresh");
  return std::nullopt;
}

// Reads only the files' own metadata; a damaged file has none.
void CheckpointFolder::check_same_run(std::int64_t newest) const {
  for (const std::int64_t number : numbers()) {
    std::string run;
    try {
      run = run_of(read_safetensors_metadata(ByteStore(folder_, checkpoint_name(number), path_of(number))));
    } catch (const Error&) {
      continue;
    }
    if (run != run_ && !damaged_.contains(number))
      throw_file_error(path(),
                       fmt::format("has checkpoints of two runs: {} is not of the run of {}", checkpoint_name(number),
                                   checkpoint_name(newest)),
                       "move those of one run to another folder");
  }
}

std::string CheckpointFolder::write(const Safetensors& contents) {
  for (const std::int64_t number : numbers())
    if (!own_.contains(number))
      throw_file_error(
          path(), fmt::format("can no longer be used: another run has written {} into it", checkpoint_name(number)),
          "give each run its own folder");
  const std::int64_t number = last_number_ + 1;
  const std::string path = path_of(number);
  Safetensors with_run = contents;
  with_run.metadata.emplace_back(run_entry, run_);
  FileWriter file(folder_, checkpoint_name(number), path);
  file.write(checkpoint_bytes(with_run));
  // Before commit(): the file counts as ours even if it cannot be synced at the end.
  own_.insert(number);
  file.commit();
  last_number_ = number;
  remove_old(number);
  return path;
}

// A file that cannot be removed now is tried again after the next checkpoint.
void CheckpointFolder::remove_old(std::int64_t newest) const {
  int kept = 0;
  const std::vector<std::int64_t> all = numbers();
  for (auto number = all.rbegin(); number != all.rend(); ++number)
    if (kept >= keep_ && *number <= newest && own_.contains(*number))
      unlinkat(folder_.descriptor(), checkpoint_name(*number).c_str(), 0);
    else if (!damaged_.contains(*number)) ++kept;
}

}  // namespace pando::data
