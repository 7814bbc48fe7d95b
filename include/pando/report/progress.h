// SPDX-License-Identifier: Apache-2.0
// A progress bar as Keras draws it.
#pragma once
#include <pando/base/export.h>
#include <pando/report/look.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pando {

// Names and values in the order in which they are shown.
using Metrics = std::vector<std::pair<std::string, double>>;

// bar: a terminal is redrawn in place, at most 20 times a second; any other output gets only one line at the end.
// lines: exactly one line at the end, on terminals too: "938/938 - 4s - 4ms/step - accuracy: 0.9123 - loss: 0.3012".
// silent: nothing.
enum class ProgressStyle { bar, lines, silent };

struct ProgressOptions {
  // Where it is shown. Write errors, such as a closed pipe, are ignored.
  std::FILE* stream = stdout;
  ProgressStyle style = ProgressStyle::bar;
  // What is counted, as in "4ms/step".
  std::string unit = "step";
  // How much an earlier run did that this one resumes. Times do not include it.
  std::int64_t initial = 0;
};

// "938/938 ━━━━━━━━━━━━━━━━━━━━ 4s 4ms/step - accuracy: 0.9123 - loss: 0.3012", or in the look of Keras 2 (look.h)
// "938/938 [==============================] - 4s 4ms/step - loss: 0.3012 - accuracy: 0.9123". On a narrow terminal
// metrics are below the bar.
class PANDO_API ProgressBar {
 public:
  // Starts the clock. A total of 0 means that it is not known; at the end it becomes what was counted.
  explicit ProgressBar(std::int64_t total, const ProgressOptions& options = {});
  // Ends the line on a terminal if finish() was not called.
  ~ProgressBar();
  ProgressBar(ProgressBar&&) noexcept;
  ProgressBar& operator=(ProgressBar&&) noexcept;

  // Tells that `current` of `total` are done, and the values of the metrics.
  void update(std::int64_t current, const Metrics& metrics = {});
  // Shows the last update with the time taken, and ends the line. Calls after it do nothing.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando
