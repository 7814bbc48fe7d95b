// SPDX-License-Identifier: Apache-2.0
// Where the text of Pando goes: what it shows, such as progress bars, and its messages. Programs that have a window, a
// log or another language around them take both over.
#pragma once
#include <pando/base/function.h>

#include <cstdio>
#include <memory>
#include <string_view>

namespace pando {

// Takes text in the place of a stream. Any thread may call its functions, also several threads at once; what they throw
// is dropped.
struct OutputSink {
  Function<void(std::string_view text)> write;
  // The width of the terminal or window that shows the text. 0 if its cursor cannot go back to the beginning of the
  // line, as in a file. An empty function counts as 0.
  Function<int()> columns = {};
  bool color = false;
  // Whether lines and bars may be made of characters outside ASCII.
  bool unicode = true;
};

// From now on, the sink takes what Pando writes to `stream` (stdout or stderr). A null sink gives the text to the
// stream again. Returns the previous sink.
PANDO_API std::shared_ptr<const OutputSink> redirect_output(std::FILE* stream, std::shared_ptr<const OutputSink> sink);

// A notice tells what is done; a warning tells of something that the user may not want.
enum class MessageKind { notice, warning };

struct Message {
  MessageKind kind = MessageKind::notice;
  // The part of Pando that it is about: "keras", "ipu", "poptorch" or "datasets".
  std::string_view topic;
  // Sentences without a line end.
  std::string_view text;
  // Whether a progress bar may be in the last line of the output.
  bool below_bar = false;
};

// Any thread may call it; what it throws is dropped.
using MessageHandler = Function<void(const Message& message)>;
// From now on, the handler gets all messages; with an empty handler, Pando writes them to standard error. Returns the
// previous handler.
PANDO_API MessageHandler set_message_handler(MessageHandler handler);

}  // namespace pando
