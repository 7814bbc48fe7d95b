#include "data/checkpoint_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "io/byte_store.h"
#include "io/file_writer.h"
#include "io/sha256.h"

namespace pando::data {

namespace {

constexpr std::string_view prefix = "checkpoint-", ending = ".safetensors", half_written = ".part";
constexpr std::size_t sum_length = 64;
// As the header has it; within a string the quotes would be escaped.
constexpr std::string_view sum_entry = "\"sha256\": \"";

// The place of the sum; nothing if there is none.
std::optional<std::size_t> sum_place(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t found = text.find(sum_entry);
  if (found == std::string_view::npos || text.size() - found < sum_entry.size() + sum_length) return std::nullopt;
  return found + sum_entry.size();
}

// Nothing for a file that is no checkpoint.
std::optional<std::int64_t> number_of(const std::string& name) {
  if (!name.starts_with(prefix) || !name.ends_with(ending)) return std::nullopt;
  const std::string_view digits =
      std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - ending.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || checkpoint_name(number) != name) return std::nullopt;
  return number;
}

Safetensors read_checkpoint(const std::string& path) {
  const ByteStore store(path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(store.size()));
  bytes.resize(store.read(0, bytes));
  return parse_checkpoint(bytes, path);
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
  const auto fail = [&] { throw_file_error(name, "is damaged or no checkpoint", "use another one"); };
  const std::optional<std::size_t> place = sum_place(bytes);
  if (!place) fail();
  std::vector<std::byte> blanked(bytes.begin(), bytes.end());
  std::fill_n(blanked.begin() + static_cast<std::ptrdiff_t>(*place), sum_length, std::byte{'0'});
  if (const std::string sum = sha256(blanked); std::memcmp(bytes.data() + *place, sum.data(), sum_length) != 0) fail();
  Safetensors contents = parse_safetensors(bytes, name);
  std::erase_if(contents.metadata, [](const auto& entry) { return entry.first == "sha256"; });
  return contents;
}

std::string checkpoint_name(std::int64_t number) { return fmt::format("{}{:08}{}", prefix, number, ending); }

CheckpointFolder::CheckpointFolder(const std::string& path, int keep) : path_(path), keep_(keep) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  const auto fail = [&](int error) {
    throw_file_error(path_, fmt::format("cannot be used for checkpoints: {}", std::strerror(error)),
                     "give a folder that can be written");
  };
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) fail(error.value());
  if (access(path_.c_str(), W_OK | X_OK) != 0) fail(errno);
  descriptor_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  // Where the file system knows no locks there is no protection.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor_);
    throw_file_error(path_, "is used for checkpoints by another run", "wait until it ends, or give another folder");
  }
  remove_half_written();
  if (const std::vector<std::int64_t> all = numbers(); !all.empty()) last_number_ = all.back();
}

CheckpointFolder::~CheckpointFolder() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::vector<std::int64_t> CheckpointFolder::numbers() const {
  std::vector<std::int64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error))
    if (const std::optional<std::int64_t> number = number_of(entry.path().filename().string()))
      numbers.push_back(*number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string CheckpointFolder::newest_path() const {
  const std::vector<std::int64_t> all = numbers();
  return all.empty() ? "" : path_of(all.back());
}

std::optional<Checkpoint> CheckpointFolder::read_newest(const std::function<void(const std::string& problem)>& warn) {
  const std::vector<std::int64_t> all = numbers();
  for (auto number = all.rbegin(); number != all.rend(); ++number) {
    try {
      return Checkpoint{path_of(*number), read_checkpoint(path_of(*number))};
    } catch (const Error& error) {
      damaged_.insert(*number);
      warn(error.what());
    }
  }
  if (!all.empty()) throw_file_error(path_, "has only checkpoints that cannot be read", "remove them to start afresh");
  return std::nullopt;
}

std::string CheckpointFolder::write(const Safetensors& contents) {
  const std::int64_t number = last_number_ + 1;
  const std::string path = path_of(number);
  FileWriter file(path);
  file.write(checkpoint_bytes(contents));
  file.commit();
  last_number_ = number;
  remove_old(number);
  return path;
}

void CheckpointFolder::remove_half_written() const {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(half_written)) found.push_back(entry.path());
  }
  for (const std::filesystem::path& path : found) std::filesystem::remove(path, error);
}

// What cannot be removed now is tried again after the next.
void CheckpointFolder::remove_old(std::int64_t newest) const {
  int kept = 0;
  const std::vector<std::int64_t> all = numbers();
  for (auto number = all.rbegin(); number != all.rend(); ++number) {
    std::error_code error;
    if (kept >= keep_ && *number <= newest) std::filesystem::remove(path_of(*number), error);
    else if (!damaged_.contains(*number)) ++kept;
  }
}

}  // namespace pando::data
