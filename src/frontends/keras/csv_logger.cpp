#include <pando/keras/callbacks.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

namespace pando::keras::callbacks {

namespace {

class CsvFile : public Callback {
 public:
  CsvFile(const std::string& path, const CSVLoggerOptions& options) : path_(path), options_(options) {}
  std::optional<std::vector<std::string>> added_logs() const override { return std::vector<std::string>(); }
  void on_train_begin(Model&) override {
    // A line of names is there already if there is anything to append to.
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(path_, absent);
    bytes_before_ = options_.append && !absent ? size : 0;
    written_.clear();
    open(bytes_before_ > 0 ? std::ios::app : std::ios::trunc);
  }
  void on_epoch_end(Model&, std::int64_t epoch, Logs& logs) override {
    std::string names = "epoch", values = fmt::format("{}", epoch);
    for (const auto& [name, value] : logs) {
      names += options_.separator + name;
      values += fmt::format("{}{}", options_.separator, value);
    }
    write((bytes_before_ == 0 && written_.empty() ? names + '\n' : "") + values + '\n');
  }
  void on_train_end(Model&) override { file_.close(); }
  CallbackState save_state() const override { return {fmt::format("{}\n{}", bytes_before_, written_)}; }
  // The file may have lines from after the checkpoint, or lack some: it becomes what it was.
  void restore_state(const CallbackState& state) override {
    const std::size_t end = std::min(state.text.find('\n'), state.text.size());
    const auto [last, error] = std::from_chars(state.text.data(), state.text.data() + end, bytes_before_);
    if (end == state.text.size() || error != std::errc())
      throw Error("CSVLogger: the checkpoint has the state of another callback; give the same callbacks");
    file_.close();
    std::error_code absent;
    const std::uintmax_t size = std::filesystem::file_size(path_, absent);
    bytes_before_ = absent ? 0 : std::min<std::uintmax_t>(bytes_before_, size);
    if (!absent) std::filesystem::resize_file(path_, bytes_before_, absent);
    written_.clear();
    open(std::ios::app);
    write(state.text.substr(end + 1));
  }

 private:
  void open(std::ios::openmode mode) {
    file_ = std::ofstream(path_, mode);
    if (!file_)
      throw Error(fmt::format("CSVLogger: cannot write {}; see that the folder exists and is writable", path_));
  }
  void write(const std::string& lines) {
    written_ += lines;
    // A run that is killed keeps what it wrote.
    file_ << lines << std::flush;
    if (!file_) throw Error(fmt::format("CSVLogger: cannot write {}; see that the disk is not full", path_));
  }

  std::string path_;
  CSVLoggerOptions options_;
  std::ofstream file_;
  // What other runs wrote, and what this one did.
  std::uintmax_t bytes_before_ = 0;
  std::string written_;
};

}  // namespace

std::shared_ptr<Callback> CSVLogger(const std::string& filename, const CSVLoggerOptions& options) {
  return std::make_shared<CsvFile>(filename, options);
}

}  // namespace pando::keras::callbacks
