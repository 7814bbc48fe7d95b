// SPDX-License-Identifier: Apache-2.0
// Notices reach standard error; if they cannot, the run goes on.
#include "base/notice.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/message.h"

using namespace pando;

namespace {

// Standard error is this descriptor while it lives; -1: closed.
class StandardError {
 public:
  explicit StandardError(int descriptor) : saved_(dup(2)) {
    if (descriptor < 0) close(2);
    else dup2(descriptor, 2);
  }
  ~StandardError() {
    dup2(saved_, 2);
    close(saved_);
  }

 private:
  int saved_;
};

void with_standard_error(int descriptor) {
  const StandardError redirected(descriptor);
  tell("Warning: the disk is full.\n");
}

TEST(Notice, ReachesStandardErrorAsItIs) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  with_standard_error(ends[1]);
  std::string text(100, ' ');
  text.resize(static_cast<std::size_t>(read(ends[0], text.data(), text.size())));
  EXPECT_EQ(text, "Warning: the disk is full.\n");
  close(ends[0]);
  close(ends[1]);
}

TEST(Notice, IsLostWithoutAWordWhereStandardErrorIsFullOrClosed) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  errno = 0;
  EXPECT_NO_THROW(with_standard_error(full));
  EXPECT_NO_THROW(with_standard_error(-1));
  EXPECT_EQ(errno, 0);
  close(full);
}

// With the signals as a program has them that says nothing about them: both would end it.
TEST(Notice, RaisesNoSignalWhereTheReaderHasGoneOrTheFileIsTooLarge) {
  const auto in_a_child = [] {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    int ends[2];
    if (pipe(ends) != 0) std::_Exit(1);
    close(ends[0]);
    with_standard_error(ends[1]);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    char name[] = "/tmp/pando_notice_XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    with_standard_error(file);
    std::_Exit(42);
  };
  EXPECT_EXIT(in_a_child(), testing::ExitedWithCode(42), "");
}

TEST(Notice, LeavesTheSignalsOfTheProgramToIt) {
  static volatile std::sig_atomic_t seen = 0;
  const auto old = signal(SIGPIPE, [](int) { seen = seen + 1; });
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  with_standard_error(ends[1]);
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(write(ends[1], "x", 1), -1);
  EXPECT_EQ(seen, 1);
  signal(SIGPIPE, old);
  close(ends[1]);
}

// What is written to the stream while it lives.
class Captured {
 public:
  explicit Captured(std::FILE* stream, int columns = 0) : stream_(stream) {
    auto sink = std::make_shared<OutputSink>();
    sink->write = [this](std::string_view text) { text_ += text; };
    sink->columns = [columns] { return columns; };
    before_ = redirect_output(stream, sink);
  }
  ~Captured() { redirect_output(stream_, before_); }
  const std::string& text() const { return text_; }

 private:
  std::FILE* stream_;
  std::string text_;
  std::shared_ptr<const OutputSink> before_;
};

TEST(Output, GoesToTheSinkInThePlaceOfItsStream) {
  const Captured output(stdout), error(stderr);
  tell(stdout, "shown\n");
  draw(stdout, "\rmoved");
  tell("told \x1b\n");
  EXPECT_EQ(output.text(), "shown\n\rmoved");
  EXPECT_EQ(error.text(), "told \\x1b\n");
}

TEST(Output, DropsWhatASinkThrows) {
  auto sink = std::make_shared<OutputSink>();
  sink->write = [](std::string_view) { throw std::runtime_error("full"); };
  const auto before = redirect_output(stderr, sink);
  EXPECT_NO_THROW(tell("lost"));
  redirect_output(stderr, before);
}

TEST(Output, RefusesOtherStreamsAndSinksThatCannotWrite) {
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(message([&] { redirect_output(file, nullptr); }), "redirect_output: the stream must be stdout or stderr");
  EXPECT_EQ(message([] { redirect_output(stdout, std::make_shared<OutputSink>()); }),
            "redirect_output: the sink has no function `write`");
  std::fclose(file);
}

TEST(Messages, GoToTheHandlerWithTheirKindAndTopic) {
  std::string seen;
  const MessageHandler before = set_message_handler([&](const Message& message) {
    seen += std::string(message.kind == MessageKind::warning ? "warning" : "notice") + "," +
            std::string(message.topic) + "," + std::string(message.text) + (message.below_bar ? ",below bar;" : ";");
  });
  warn("keras", "The disk is full.", Line::below_bar);
  notify("datasets", "Downloading.");
  const MessageHandler mine = set_message_handler(before);
  EXPECT_EQ(seen, "warning,keras,The disk is full.,below bar;notice,datasets,Downloading.;");
  EXPECT_FALSE(before);
  EXPECT_TRUE(mine);
}

TEST(Messages, GoToStandardErrorWithoutAHandler) {
  const Captured error(stderr);
  warn("keras", "The disk is full.", Line::below_bar);
  notify("datasets", "Downloading.");
  EXPECT_EQ(error.text(), "\nWarning: The disk is full.\nDownloading.\n");
}

}  // namespace
