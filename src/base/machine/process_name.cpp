// SPDX-License-Identifier: Apache-2.0
#include "base/machine/process_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace pando {

namespace {

// The first line of a file; empty if it cannot be read.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct Status {
  char state = 'X';
  std::uint64_t start = 0;
};

// Nothing if the process does not exist.
std::optional<Status> status_of(std::int64_t number) {
  // "NUMBER (COMMAND) STATE ...", where the command may contain anything; the start is word 22.
  const std::string line = first_line(fmt::format("/proc/{}/stat", number));
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream words(line.substr(end + 1));
  Status status;
  words >> status.state;
  std::string word;
  for (int i = 4; i <= 22; ++i) words >> word;
  std::from_chars(word.data(), word.data() + word.size(), status.start);
  return status;
}

std::uint64_t hashed(const std::string& text) {
  // FNV-1a.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return hash;
}

// 0 where there is no /proc.
std::uint64_t this_system() {
  std::error_code error;
  const std::filesystem::path numbers = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  return error || boot.empty() ? 0 : hashed(boot + numbers.string());
}

}  // namespace

ProcessName this_process() {
  const std::int64_t number = getpid();
  const std::optional<Status> status = status_of(number);
  return {.system = status ? this_system() : 0, .number = number, .start = status ? status->start : 0};
}

Life life_of(const ProcessName& process) {
  static const std::uint64_t here = this_system();
  if (process.system == 0 || process.system != here) return Life::unknown;
  const std::optional<Status> status = status_of(process.number);
  const bool runs = status && status->start == process.start && status->state != 'Z' && status->state != 'X';
  return runs ? Life::runs : Life::ended;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

}  // namespace pando
