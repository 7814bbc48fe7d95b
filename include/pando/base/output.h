// SPDX-License-Identifier: Apache-2.0
// Where the text of Pando goes: what it shows, such as progress bars, and its messages. Programs that have a window, a
// log or another language around them take both over.
#pragma once
#include <pando/base/function.h>

#include <cstdio>
#include <memory>
#include <string_view>

namespace pando {

// Takes text in the place of a stream. Any thread may call its functions, one at a time or not; what they throw is
// dropped.
struct OutputSink {
  Function<void(std::string_view text)> write;
  // The width of what shows the text, if its cursor can be moved back to the beginning of the line; else 0, as for
  // files. If empty, it is 0.
  Function<int()> columns = {};
  bool color = false;
  // Whether lines and bars may be made of characters outside ASCII.
  bool unicode = true;
};

// From now on, what Pando writes to `stream`, stdout or stderr, goes to the sink; null: to the stream. Returns the sink
// before it.
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
// From now on, the handler gets all messages; an empty one lets Pando write them to standard error. Returns the one
// before.
PANDO_API MessageHandler set_message_handler(MessageHandler handler);

}  // namespace pando
