// SPDX-License-Identifier: Apache-2.0
// CSVLogger: a line for each epoch, written as soon as it is known. A log must not end the training: lines that cannot
// be written are kept and tried again with the next line.
#include <pando/comm/workers.h>
#include <pando/frontends/keras/callbacks.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/machine/quiet_writes.h"
#include "base/notice.h"
#include "io/folder.h"

namespace pando::keras::callbacks {

namespace {

// A file that grows by whole lines.
class LineFile {
 public:
  LineFile() = default;
  ~LineFile() { close(); }
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Cuts the file off after `keep` bytes. Returns the error, 0 if there is none.
  int open(const std::string& path, std::uintmax_t keep) {
    close();
    descriptor_ = open_descriptor(AT_FDCWD, path, O_WRONLY | O_CREAT, 0666);
    if (descriptor_ < 0) return errno;
    struct stat status = {};
    is_regular_ = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    size_ = keep;
    return cut_off();
  }

  // Writes all of the text; on failure, none of it if the file can be cut off again. Returns the error.
  int write(std::string_view lines) {
    const QuietWrites quiet;
    const std::uintmax_t before = size_;
    while (!lines.empty()) {
      const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int error = errno;
        size_ = before;
        cut_off();
        return error;
      }
      size_ += static_cast<std::uintmax_t>(written);
      lines.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
  }

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int cut_off() const {
    if (!is_regular_) return 0;
    const auto end = static_cast<off_t>(size_);
    return ftruncate(descriptor_, end) == 0 && lseek(descriptor_, end, SEEK_SET) == end ? 0 : errno;
  }

  int descriptor_ = -1;
  bool is_regular_ = false;
  std::uintmax_t size_ = 0;
};

class CsvFile : public Callback {
 public:
  CsvFile(const std::string& path, const CSVLoggerOptions& options) : path_(path), options_(options) {}
  std::optional<std::vector<std::string>> added_logs() const override { return std::vector<std::string>(); }

  void on_train_begin(Model&) override {
    // If there is anything to append to, the file already has a line of names.
    bytes_before_ = options_.append ? size_of_file().value_or(0) : 0;
    begin();
  }
  void on_epoch_end(Model&, std::int64_t epoch, Logs& logs) override {
    std::string names = "epoch", values = fmt::format("{}", epoch);
    auto sorted = logs.entries();
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [name, value] : sorted) {
      names += options_.separator + name;
      values += fmt::format("{}{}", options_.separator, value);
    }
    write((bytes_before_ == 0 && lines_.empty() ? names + '\n' : "") + values + '\n');
  }
  void on_train_end(Model&) override {
    write("");
    file_.close();
    if (options_.on_failure && error_ != 0) options_.on_failure(problem());
  }
  CallbackState save_state() const override { return {fmt::format("{}\n{}", bytes_before_, lines_)}; }
  // The file may have lines from after the checkpoint, or lack some: it is restored to what it was.
  void restore_state(const CallbackState& state) override {
    const std::size_t end = std::min(state.text.find('\n'), state.text.size());
    const auto [last, error] = std::from_chars(state.text.data(), state.text.data() + end, bytes_before_);
    if (end == state.text.size() || error != std::errc())
      throw Error("CSVLogger: the checkpoint has the state of another callback; give the same callbacks");
    bytes_before_ = std::min(bytes_before_, size_of_file().value_or(0));
    begin();
    write(state.text.substr(end + 1));
  }

 private:
  std::optional<std::uintmax_t> size_of_file() const {
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(path_, absent);
    return absent ? std::nullopt : std::optional(size);
  }
  std::string problem() const {
    return fmt::format("CSVLogger: cannot write {}: {}; make room for it, or write it to another place", path_,
                       std::strerror(error_));
  }
  void begin() {
    lines_.clear();
    written_ = 0;
    if (!is_first_worker()) return;
    if (const int error = file_.open(path_, bytes_before_); error != 0)
      throw Error(fmt::format("CSVLogger: cannot write {}: {}; see that the folder exists and is writable", path_,
                              std::strerror(error)));
    error_ = 0;
  }
  // These lines, and those that could not be written before.
  void write(const std::string& lines) {
    lines_ += lines;
    if (!is_first_worker()) return;
    const int before = error_;
    error_ = file_.write(std::string_view(lines_).substr(written_));
    if (error_ == 0) written_ = lines_.size();
    else if (before == 0)
      warn("keras", fmt::format("{}. Training goes on; missing lines are tried again with the next.", problem()));
  }

  std::string path_;
  CSVLoggerOptions options_;
  LineFile file_;
  // The bytes that other runs left in the file.
  std::uintmax_t bytes_before_ = 0;
  // All lines of this run, and how many of their bytes are in the file.
  std::string lines_;
  std::size_t written_ = 0;
  // The error of the last attempt; 0 if it succeeded.
  int error_ = 0;
};

}  // namespace

std::shared_ptr<Callback> CSVLogger(const std::string& filename, const CSVLoggerOptions& options) {
  return std::make_shared<CsvFile>(filename, options);
}

}  // namespace pando::keras::callbacks
