// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/files/checkpoint.h"

#include <fmt/format.h>

#include <memory>

#include "base/notice.h"
#include "comm/last_checkpoint.h"

namespace pando::keras {

namespace {

const CheckpointOptions& checked(const std::string& who, const CheckpointOptions& options) {
  if (options.every_executions < 0)
    throw Error(
        fmt::format("{}: checkpoint.every_executions is {} but must not be negative", who, options.every_executions));
  if (!(options.every_seconds >= 0))
    throw Error(fmt::format("{}: checkpoint.every_seconds is {} but must not be negative", who, options.every_seconds));
  if (options.keep < 1) throw Error(fmt::format("{}: checkpoint.keep is {} but must be at least 1", who, options.keep));
  return options;
}

}  // namespace

RunCheckpoints::RunCheckpoints(const std::string& who, const CheckpointOptions& options)
    : who_(who), options_(checked(who, options)), folder_(options.directory, options.keep) {
  if (const std::string newest = folder_.newest_path(); !options.resume && !newest.empty())
    throw Error(
        fmt::format("{}: the folder has checkpoints of another run, such as {}; set checkpoint.resume to go on with "
                    "it, or give another directory",
                    who, newest));
}

std::optional<RunCheckpoints::Resumed> RunCheckpoints::resumed() {
  const std::optional<data::Checkpoint> newest = folder_.read_newest(
      [](const std::string& problem) { warn("keras", fmt::format("{}; it is left out.", problem)); });
  if (!newest) return std::nullopt;
  outcome_.path = newest->path;
  note_checkpoint(newest->path);
  return Resumed{newest->path, run_state_of(newest->contents, newest->path)};
}

bool RunCheckpoints::is_due() {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - last_;
  ++executions_;
  return (options_.every_executions > 0 && executions_ >= options_.every_executions) ||
         (options_.every_seconds > 0 && passed.count() >= options_.every_seconds);
}

void RunCheckpoints::write(RunState state) {
  executions_ = 0;
  last_ = std::chrono::steady_clock::now();
  // Functions must be copyable, and the state need not be copied.
  writer_.submit([this, shared = std::make_shared<const RunState>(std::move(state))] { write_now(*shared); });
}

// On the thread of the writer, where an exception would end the process.
void RunCheckpoints::write_now(const RunState& state) noexcept {
  try {
    std::string path, failure;
    try {
      path = folder_.write(to_safetensors(state));
    } catch (const std::exception& error) {
      failure = error.what();
    }
    const std::lock_guard lock(mutex_);
    outcome_.failure = failure;
    if (failure.empty()) note_checkpoint(outcome_.path = path);
    else warn_once(failure);
    if (failure.empty()) warn_if_moved();
  } catch (...) {
    // There is no memory left to say what it was; this text is short enough to need none.
    const std::lock_guard lock(mutex_);
    outcome_.failure = "out of memory";
  }
}

// The next time, the same cause has another file name.
void RunCheckpoints::warn_once(const std::string& problem) {
  const std::size_t name_end = problem.find(".safetensors");
  const std::string cause = name_end == std::string::npos ? problem : problem.substr(name_end);
  if (!told_.insert(cause).second) return;
  warn("keras", fmt::format("{}. Training goes on; the next checkpoint is tried when it is due.", problem),
       Line::below_bar);
}

// A user who looks for the run under the old name would find another run, or start a new one.
void RunCheckpoints::warn_if_moved() {
  if (!folder_.is_moved() || !told_.insert("moved").second) return;
  warn("keras",
       fmt::format("{} was moved or replaced. The run goes on writing its checkpoints into {}.", options_.directory,
                   folder_.path()),
       Line::below_bar);
}

RunCheckpoints::Outcome RunCheckpoints::wait() {
  writer_.wait();
  const std::lock_guard lock(mutex_);
  return outcome_;
}

}  // namespace pando::keras
