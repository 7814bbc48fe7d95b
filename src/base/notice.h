// SPDX-License-Identifier: Apache-2.0
// Notices and warnings, which Pando writes in addition to its results. Writing one never ends a run.
#pragma once
#include <pando/base/output.h>

#include <cstdio>
#include <string_view>

namespace pando {

// Writes the text to standard error or to `stream`, or to the sink in its place, and flushes it. Control characters
// other than line ends and tabs become escapes. Write errors are ignored: a closed pipe, a full disk or a closed
// descriptor does not throw, raise a signal or change errno.
void tell(std::string_view text) noexcept;
void tell(std::FILE* stream, std::string_view text) noexcept;
// The same for text that moves the cursor: it is written as it is.
void draw(std::FILE* stream, std::string_view text) noexcept;
// Null if the stream is not redirected.
std::shared_ptr<const OutputSink> sink_of(std::FILE* stream);

// A message is a sentence or more, without a line end. It goes to the program's handler; without one it goes to
// standard error. With Line::below_bar a line end comes before it there, because a progress bar may be in the last
// line. notify() tells, warn() warns.
enum class Line { begins, below_bar };
void notify(std::string_view topic, std::string_view text, Line line = Line::begins) noexcept;
void warn(std::string_view topic, std::string_view text, Line line = Line::begins) noexcept;

}  // namespace pando
