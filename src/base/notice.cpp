// SPDX-License-Identifier: Apache-2.0
#include "base/notice.h"

#include <cerrno>
#include <mutex>
#include <string>

#include "base/machine/quiet_writes.h"
#include "base/text.h"

namespace pando {

namespace {

// What the program has put in the place of streams and standard messages.
struct Redirections {
  std::mutex mutex;
  std::shared_ptr<const OutputSink> output, error;
  std::shared_ptr<const MessageHandler> handler;
};

// Never destroyed: threads may write while the process ends.
Redirections& redirections() {
  static Redirections& only = *new Redirections;
  return only;
}

void write_quietly(std::FILE* stream, std::string_view text) {
  const int error = errno;
  {
    const QuietWrites quiet;
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  }
  errno = error;
}

// A handler is called without the lock: it may wait for other threads that write.
void say(const Message& message) noexcept {
  try {
    std::shared_ptr<const MessageHandler> handler;
    {
      const std::lock_guard lock(redirections().mutex);
      handler = redirections().handler;
    }
    if (handler) return (*handler)(message);
    tell((message.below_bar ? "\n" : "") + std::string(message.kind == MessageKind::warning ? "Warning: " : "") +
         std::string(message.text) + "\n");
  } catch (...) {
    // A message is not worth the run.
  }
}

}  // namespace

std::shared_ptr<const OutputSink> sink_of(std::FILE* stream) {
  Redirections& all = redirections();
  const std::lock_guard lock(all.mutex);
  return stream == stdout ? all.output : stream == stderr ? all.error : nullptr;
}

std::shared_ptr<const OutputSink> redirect_output(std::FILE* stream, std::shared_ptr<const OutputSink> sink) {
  if (stream != stdout && stream != stderr) throw Error("redirect_output: the stream must be stdout or stderr");
  if (sink && !sink->write) throw Error("redirect_output: the sink has no function `write`");
  Redirections& all = redirections();
  const std::lock_guard lock(all.mutex);
  return std::exchange(stream == stdout ? all.output : all.error, std::move(sink));
}

MessageHandler set_message_handler(MessageHandler handler) {
  auto shared = handler ? std::make_shared<const MessageHandler>(std::move(handler)) : nullptr;
  Redirections& all = redirections();
  const std::lock_guard lock(all.mutex);
  std::swap(all.handler, shared);
  return shared ? *shared : MessageHandler();
}

void notify(std::string_view topic, std::string_view text, Line line) noexcept {
  say({MessageKind::notice, topic, text, line == Line::below_bar});
}

void warn(std::string_view topic, std::string_view text, Line line) noexcept {
  say({MessageKind::warning, topic, text, line == Line::below_bar});
}

void tell(std::string_view text) noexcept { tell(stderr, text); }

void tell(std::FILE* stream, std::string_view text) noexcept {
  try {
    draw(stream, terminal_lines(text));
  } catch (const std::bad_alloc&) {
  }
}

void draw(std::FILE* stream, std::string_view text) noexcept {
  try {
    const std::shared_ptr<const OutputSink> sink = sink_of(stream);
    if (sink) sink->write(text);
    else write_quietly(stream, text);
  } catch (...) {
    // Text is not worth the run.
  }
}

}  // namespace pando
