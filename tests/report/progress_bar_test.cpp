// What the progress bar shows on terminals of several widths and in files.
#include "report/terminal/progress_bar.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

namespace pando {
namespace {

const Metrics metrics = {{"loss", 0.30123}, {"accuracy", 0.91234}};

struct Screen {
  ProgressOutput output(int width) {
    columns = width;
    return {.write = [this](std::string_view piece) { text += piece; },
            .columns = [this] { return columns; },
            .seconds = [this] { return now; }};
  }

  std::string text;
  int columns = 0;
  double now = 100;
};

TEST(ProgressBar, WritesOneLineWhereThereIsNoTerminal) {
  Screen screen;
  ProgressPrinter printer(938, "step", screen.output(0));
  for (int i = 1; i <= 938; ++i) {
    screen.now += 0.0045;
    printer.update(i, metrics);
  }
  EXPECT_EQ(screen.text, "");
  printer.finish();
  EXPECT_EQ(screen.text, "938/938 [==============================] - 4s 4ms/step - loss: 0.3012 - accuracy: 0.9123\n");
}

TEST(ProgressBar, IsRedrawnInPlaceOnATerminal) {
  Screen screen;
  ProgressPrinter printer(10, "step", screen.output(80));
  screen.now += 1;
  printer.update(5, {{"loss", 12.5}});
  screen.now += 1;
  printer.update(7, {{"loss", 2.5}});
  screen.now += 1;
  printer.update(10, {{"loss", 1.5}});
  printer.finish();
  EXPECT_EQ(screen.text,
            "\r 5/10 [==============>...............] - ETA: 1s - loss: 12.5000"
            "\r 7/10 [====================>.........] - ETA: 0s - loss: 2.5000 "
            "\r10/10 [==============================] - ETA: 0s - loss: 1.5000 "
            "\r10/10 [==============================] - 3s 300ms/step - loss: 1.5000\n");
}

TEST(ProgressBar, WritesOneLineAnEpochInTheStyleOfLines) {
  for (const int columns : {0, 40, 80}) {
    Screen screen;
    ProgressPrinter printer(938, "step", screen.output(columns), ProgressStyle::lines);
    screen.now += 4.2;
    printer.update(938, metrics);
    EXPECT_EQ(screen.text, "");
    printer.finish();
    EXPECT_EQ(screen.text, "938/938 - 4s - loss: 0.3012 - accuracy: 0.9123 - 4s/epoch - 4ms/step\n");
  }
}

TEST(ProgressBar, WritesNothingWhenSilent) {
  Screen screen;
  ProgressPrinter printer(10, "step", screen.output(80), ProgressStyle::silent);
  printer.update(10, metrics);
  printer.finish();
  printer.abandon();
  EXPECT_EQ(screen.text, "");
}

// A line of 79 columns stands on three rows of 30: two are erased on the way up.
TEST(ProgressBar, CleansUpBehindItselfWhenTheTerminalBecomesNarrower) {
  Screen screen;
  ProgressPrinter printer(938, "step", screen.output(80));
  printer.update(100, metrics);
  screen.text.clear();
  screen.now += 1;
  screen.columns = 30;
  printer.update(469, metrics);
  EXPECT_EQ(screen.text, "\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K469/938 - ETA: 1s - loss: 0.3");
}

// There, the row above is not part of the bar.
TEST(ProgressBar, KeepsToItsRowOnTerminalsThatCutLinesOff) {
  Screen screen;
  ProgressOutput output = screen.output(80);
  output.rewraps = false;
  ProgressPrinter printer(938, "step", output);
  printer.update(100, metrics);
  screen.text.clear();
  screen.now += 1;
  screen.columns = 30;
  printer.update(469, metrics);
  EXPECT_EQ(screen.text, "\r\x1b[K469/938 - ETA: 1s - loss: 0.3");
}

TEST(ProgressBar, IsDrawnAtMostTwentyTimesASecond) {
  Screen screen;
  ProgressPrinter printer(1000, "step", screen.output(80));
  for (int i = 1; i <= 1000; ++i) {
    screen.now += 0.001;
    printer.update(i, metrics);
  }
  EXPECT_LE(std::count(screen.text.begin(), screen.text.end(), '\r'), 20);
  EXPECT_GE(std::count(screen.text.begin(), screen.text.end(), '\r'), 19);
}

TEST(ProgressBar, ShortensItselfOnNarrowTerminals) {
  ProgressMoment moment{.current = 469, .total = 938, .seconds = 2, .metrics = metrics};
  EXPECT_EQ(progress_line(moment, 80),
            "469/938 [===========>.............] - ETA: 2s - loss: 0.3012 - accuracy: 0.9123");
  EXPECT_EQ(progress_line(moment, 80).size(), 79u);
  EXPECT_EQ(progress_line(moment, 60), "469/938 - ETA: 2s - loss: 0.3012 - accuracy: 0.9123");
  EXPECT_EQ(progress_line(moment, 40), "469/938 - ETA: 2s - loss: 0.3012 - accu");
}

// The last line stays: it may wrap, but nothing of it is lost.
TEST(ProgressBar, ShowsControlCharactersOfNamesAsEscapesAndNanWithoutASign) {
  const ProgressMoment moment = {
      .current = 1, .total = 2, .metrics = {{"\x1b[1mloss\n", -std::nan("")}}, .finished = true};
  EXPECT_EQ(progress_line(moment, 0), "1/2 [==============>...............] - 0s 0s/step - \\x1b[1mloss\\n: nan");
}

TEST(ProgressBar, CountsColumnsAndNotBytes) {
  const ProgressMoment moment = {.current = 1, .total = 2, .metrics = {{"größe", 1}}};
  EXPECT_EQ(progress_line(moment, 50), "1/2 [=======>.........] - ETA: 0s - größe: 1.0000");
}

TEST(ProgressBar, KeepsTheWholeLastLine) {
  ProgressMoment moment{.current = 938, .total = 938, .seconds = 4, .metrics = metrics, .finished = true};
  EXPECT_EQ(progress_line(moment, 80),
            "938/938 [=====================] - 4s 4ms/step - loss: 0.3012 - accuracy: 0.9123");
  EXPECT_EQ(progress_line(moment, 40), "938/938 - 4s 4ms/step - loss: 0.3012 - accuracy: 0.9123");
}

TEST(ProgressBar, ShowsTimesAndMetricsOfAllSizes) {
  EXPECT_EQ(progress_line({.current = 1, .total = 7300, .seconds = 1, .metrics = {{"loss", 0.00012}}}, 60),
            "   1/7300 [.............] - ETA: 2:01:39 - loss: 1.2000e-04");
  EXPECT_EQ(
      progress_line(
          {.current = 4, .total = 4, .seconds = 190, .metrics = {{"loss", 0.0}}, .unit = "batch", .finished = true},
          60),
      "4/4 [=================] - 190s 48s/batch - loss: 0.0000e+00");
  EXPECT_EQ(progress_line({.current = 1, .total = 2, .seconds = 90, .metrics = {{"loss", NAN}}}, 0),
            "1/2 [==============>...............] - ETA: 1:30 - loss: nan");
  EXPECT_EQ(progress_line({.current = 4, .total = 4, .seconds = 0.0002, .finished = true}, 0),
            "4/4 [==============================] - 0s 50us/step");
}

TEST(ProgressBar, CountsWithoutAKnownTotal) {
  ProgressMoment moment{.current = 12, .total = 0, .seconds = 3, .metrics = {{"loss", 0.5}}};
  EXPECT_EQ(progress_line(moment, 80), "     12/Unknown - 3s 250ms/step - loss: 0.5000");

  Screen screen;
  ProgressPrinter printer(0, "step", screen.output(0));
  printer.update(12, {{"loss", 0.5}});
  screen.now += 3;
  printer.finish();
  EXPECT_EQ(screen.text, "12/12 [==============================] - 3s 250ms/step - loss: 0.5000\n");
}

TEST(ProgressBar, EndsItsLineWhenAbandoned) {
  Screen screen;
  ProgressPrinter printer(10, "step", screen.output(80));
  printer.update(1, {});
  printer.abandon();
  printer.finish();
  EXPECT_EQ(screen.text, "\r 1/10 [==>...........................] - ETA: 0s\n");
  Screen quiet;
  ProgressPrinter(10, "step", quiet.output(80)).abandon();
  EXPECT_EQ(quiet.text, "");
}

TEST(ProgressBar, WritesPlainLinesToAFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    ProgressBar bar(3, {.stream = file});
    for (int i = 1; i <= 3; ++i) bar.update(i, {{"loss", 0.5}});
    bar.finish();
  }
  std::rewind(file);
  char text[200] = {};
  std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  const std::string_view line = text;
  EXPECT_EQ(line.find('\r'), std::string_view::npos);
  EXPECT_TRUE(line.starts_with("3/3 [==============================] - 0s ")) << line;
  EXPECT_TRUE(line.ends_with("us/step - loss: 0.5000\n")) << line;
}

TEST(ProgressBar, GoesOnWhenNobodyReadsIt) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2] = {};
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  std::FILE* stream = fdopen(ends[1], "w");
  {
    ProgressBar bar(3, {.stream = stream});
    EXPECT_NO_THROW(bar.update(3, {{"loss", 0.5}}));
    EXPECT_NO_THROW(bar.finish());
  }
  std::fclose(stream);
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace pando
