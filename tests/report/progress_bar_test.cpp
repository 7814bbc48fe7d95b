// SPDX-License-Identifier: Apache-2.0
// What the progress bar shows on terminals of several widths and in files.
#include "report/terminal/progress_bar.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>

namespace pando {
namespace {

const Metrics metrics = {{"accuracy", 0.91234}, {"loss", 0.30123}};
const TerminalLook plain = {}, keras_2 = {.look = Look::keras_2}, colored = {.color = true}, ascii = {.unicode = false};

struct Screen {
  ProgressOutput output(int width, const TerminalLook& look = plain) {
    columns = width;
    return {.write = [this](std::string_view piece) { text += piece; },
            .columns = [this] { return columns; },
            .seconds = [this] { return now; },
            .look = look};
  }

  std::string text;
  int columns = 0;
  double now = 100;
};

// The rows that a terminal shows, a line end between them.
std::string shown(const ProgressMoment& moment, int columns, const TerminalLook& look = plain) {
  std::string text;
  for (const ScreenRow& row : progress_rows(moment, columns, bar_width(moment, columns, look), look))
    text += (text.empty() ? "" : "\n") + row.text;
  return text;
}

TEST(ProgressBar, WritesOneLineWhereThereIsNoTerminal) {
  Screen screen;
  ProgressPrinter printer({.total = 938}, screen.output(0));
  for (int i = 1; i <= 938; ++i) {
    screen.now += 0.0045;
    printer.update(i, metrics);
  }
  EXPECT_EQ(screen.text, "");
  printer.finish();
  EXPECT_EQ(screen.text, "938/938 ━━━━━━━━━━━━━━━━━━━━ 4s 4ms/step - accuracy: 0.9123 - loss: 0.3012\n");
}

TEST(ProgressBar, IsRedrawnInPlaceOnATerminal) {
  Screen screen;
  ProgressPrinter printer({.total = 10}, screen.output(80));
  screen.now += 1;
  printer.update(5, {{"loss", 12.5}});
  screen.now += 1;
  printer.update(7, {{"loss", 2.5}});
  screen.now += 1;
  printer.update(10, {{"loss", 1.5}});
  printer.finish();
  EXPECT_EQ(screen.text,
            "\r 5/10 ━━━━━━━━━━────────── 1s 200ms/step - loss: 12.5000"
            "\r 7/10 ━━━━━━━━━━━━━━────── 0s 286ms/step - loss: 2.5000 "
            "\r10/10 ━━━━━━━━━━━━━━━━━━━━ 0s 300ms/step - loss: 1.5000"
            "\r10/10 ━━━━━━━━━━━━━━━━━━━━ 3s 300ms/step - loss: 1.5000\n");
}

TEST(ProgressBar, HasTheColorsOfKeras3WhereTheTerminalHasColors) {
  const ProgressMoment moment = {.current = 1, .total = 2, .seconds = 3, .metrics = {{"loss", 0.5}}};
  EXPECT_EQ(shown(moment, 80, colored),
            "\x1b[1m1/2\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━\x1b[0m \x1b[1m3s\x1b[0m 3s/step - "
            "loss: 0.5000");
  // Its width is that of the text.
  const std::vector<ScreenRow> rows = progress_rows(moment, 80, bar_width(moment, 80, colored), colored);
  EXPECT_EQ(rows.at(0).width, progress_rows(moment, 80, bar_width(moment, 80, plain), plain).at(0).width);
  // What has to be cut loses its colours rather than their end.
  EXPECT_EQ(shown({.current = 12345, .total = 99999, .seconds = 3}, 16, colored), "12345/99999 21s");
}

TEST(ProgressBar, IsMadeOfAsciiWhereTheLocaleIsNotUtf8) {
  EXPECT_EQ(shown({.current = 1, .total = 2, .seconds = 3, .metrics = {{"loss", 0.5}}}, 80, ascii),
            "1/2 ==========.......... 3s 3s/step - loss: 0.5000");
}

TEST(ProgressBar, HasTheLookOfKeras2WhenAskedFor) {
  Screen screen;
  ProgressPrinter printer({.total = 10}, screen.output(80, keras_2));
  screen.now += 1;
  printer.update(5, {{"loss", 12.5}});
  screen.now += 2;
  printer.update(10, {{"loss", 1.5}});
  printer.finish();
  EXPECT_EQ(screen.text,
            "\r 5/10 [==============>...............] - ETA: 1s - loss: 12.5000"
            "\r10/10 [==============================] - ETA: 0s - loss: 1.5000 "
            "\r10/10 [==============================] - 3s 300ms/step - loss: 1.5000\n");
  EXPECT_EQ(shown({.current = 12, .seconds = 3, .metrics = {{"loss", 0.5}}}, 80, keras_2),
            "     12/Unknown - 3s 250ms/step - loss: 0.5000");
  EXPECT_EQ(progress_line({.current = 938, .total = 938, .seconds = 4, .metrics = metrics, .finished = true}, keras_2),
            "938/938 [==============================] - 4s 4ms/step - accuracy: 0.9123 - loss: 0.3012");
}

TEST(ProgressBar, WritesOneLineAnEpochInTheStyleOfLines) {
  const auto lines = [](int columns, const TerminalLook& look) {
    Screen screen;
    ProgressPrinter printer({.total = 938}, screen.output(columns, look), ProgressStyle::lines);
    screen.now += 4.2;
    printer.update(938, metrics);
    EXPECT_EQ(screen.text, "");
    printer.finish();
    return screen.text;
  };
  for (const int columns : {0, 40, 80}) {
    EXPECT_EQ(lines(columns, colored), "938/938 - 4s - 4ms/step - accuracy: 0.9123 - loss: 0.3012\n");
    EXPECT_EQ(lines(columns, keras_2), "938/938 - 4s - accuracy: 0.9123 - loss: 0.3012 - 4s/epoch - 4ms/step\n");
  }
}

TEST(ProgressBar, WritesNothingWhenSilent) {
  Screen screen;
  ProgressPrinter printer({.total = 10}, screen.output(80), ProgressStyle::silent);
  printer.update(10, metrics);
  printer.finish();
  printer.abandon();
  EXPECT_EQ(screen.text, "");
}

// A line of 78 columns stands on three rows of 30: all are erased on the way up.
TEST(ProgressBar, CleansUpWhenTheTerminalBecomesNarrower) {
  Screen screen;
  ProgressPrinter printer({.total = 938}, screen.output(80));
  printer.update(100, metrics);
  screen.text.clear();
  screen.now += 1;
  screen.columns = 30;
  printer.update(469, metrics);
  EXPECT_EQ(screen.text,
            "\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K469/938 1s 2ms/step\n        accuracy: 0.9123\n        loss: 0.3012");
}

// There, the row above is not part of the bar.
TEST(ProgressBar, KeepsToItsRowOnTerminalsThatCutLinesOff) {
  Screen screen;
  ProgressOutput output = screen.output(80);
  output.rewraps = false;
  ProgressPrinter printer({.total = 938}, output);
  printer.update(100, metrics);
  screen.text.clear();
  screen.now += 1;
  screen.columns = 30;
  printer.update(469, metrics);
  EXPECT_EQ(screen.text, "\r\x1b[K469/938 1s 2ms/step\n        accuracy: 0.9123\n        loss: 0.3012");
}

TEST(ProgressBar, GoesBackOverAllItsRows) {
  Screen screen;
  ProgressPrinter printer({.total = 938}, screen.output(40));
  screen.now += 1;
  printer.update(100, metrics);
  screen.text.clear();
  screen.now += 1;
  printer.update(469, metrics);
  EXPECT_EQ(screen.text, "\r\x1b[A469/938 ━━━━━━━─────── 2s 4ms/step \n        accuracy: 0.9123 - loss: 0.3012");
}

TEST(ProgressBar, IsDrawnAtMostTwentyTimesASecond) {
  Screen screen;
  ProgressPrinter printer({.total = 1000}, screen.output(80));
  for (int i = 1; i <= 1000; ++i) {
    screen.now += 0.001;
    printer.update(i, metrics);
  }
  EXPECT_LE(std::count(screen.text.begin(), screen.text.end(), '\r'), 20);
  EXPECT_GE(std::count(screen.text.begin(), screen.text.end(), '\r'), 19);
}

TEST(ProgressBar, PutsMetricsBelowItWhereTheTerminalIsNarrow) {
  const ProgressMoment moment{.current = 469, .total = 938, .seconds = 2, .metrics = metrics};
  EXPECT_EQ(shown(moment, 80), "469/938 ━━━━━━━━━━────────── 2s 4ms/step - accuracy: 0.9123 - loss: 0.3012");
  EXPECT_EQ(shown(moment, 60), "469/938 ━━━━━━━━━━────────── 2s 4ms/step - accuracy: 0.9123\n        loss: 0.3012");
  EXPECT_EQ(shown(moment, 40), "469/938 ━━━━━━━─────── 2s 4ms/step\n        accuracy: 0.9123 - loss: 0.3012");
  EXPECT_EQ(shown(moment, 20), "469/938 2s 4ms/step\n   accuracy: 0.9123\n       loss: 0.3012");
  EXPECT_EQ(shown(moment, 80, keras_2), "469/938 [========>.........] - ETA: 2s - accuracy: 0.9123 - loss: 0.3012");
}

// Validation adds metrics to the last line, and the time grows; the bar stays as it is.
TEST(ProgressBar, KeepsItsWidthToTheEnd) {
  for (const int columns : {40, 80}) {
    Screen screen;
    ProgressPrinter printer({.total = 938}, screen.output(columns));
    const auto cells = [&] {
      std::size_t count = 0;
      for (std::size_t at = screen.text.rfind('\r'); at < screen.text.size(); ++at)
        count += screen.text.compare(at, 3, "━") == 0 || screen.text.compare(at, 3, "─") == 0;
      return count;
    };
    printer.update(1, metrics);
    const std::size_t before = cells();
    EXPECT_EQ(before, columns == 40 ? 14u : 20u);
    screen.now += 700;
    Metrics all = metrics;
    all.insert(all.end(), {{"val_accuracy", 0.9}, {"val_loss", 0.25}});
    printer.update(938, all);
    printer.finish();
    EXPECT_EQ(cells(), before) << screen.text;
    EXPECT_TRUE(screen.text.ends_with(columns == 40 ? "\n        val_accuracy: 0.9000\n        val_loss: 0.2500\n"
                                                    : "\n        val_accuracy: 0.9000 - val_loss: 0.2500\n"))
        << screen.text;
  }
}

TEST(ProgressBar, ShowsControlCharactersOfNamesAsEscapesAndNanWithoutASign) {
  const ProgressMoment moment = {
      .current = 1, .total = 2, .metrics = {{"\x1b[1mloss\n", -std::nan("")}}, .finished = true};
  EXPECT_EQ(progress_line(moment, plain), "1/2 ━━━━━━━━━━────────── 0s 0s/step - \\x1b[1mloss\\n: nan");
}

TEST(ProgressBar, CountsColumnsAndNotBytes) {
  const ProgressMoment moment = {.current = 1, .total = 2, .metrics = {{"größe", 1}}};
  EXPECT_EQ(shown(moment, 50), "1/2 ━━━━━━────── 0s 0s/step - größe: 1.0000");
}

// While it is running a row must not wrap; the last rows stay, and nothing of them is lost.
TEST(ProgressBar, CutsOnlyANameThatIsWiderThanTheTerminalAndOnlyWhileRunning) {
  ProgressMoment moment = {.current = 1, .total = 2, .seconds = 1, .metrics = {{"a_rather_long_name", 1}}};
  EXPECT_EQ(shown(moment, 20), "1/2 1s 1s/step\na_rather_long_name:");
  moment.finished = true;
  EXPECT_EQ(shown(moment, 20), "1/2 1s 1s/step\na_rather_long_name: 1.0000");
}

TEST(ProgressBar, ShowsTimesAndMetricsOfAllSizes) {
  EXPECT_EQ(shown({.current = 1, .total = 7300, .seconds = 1, .metrics = {{"loss", 0.00012}}}, 80),
            "   1/7300 ──────────────────── 2:01:39 1s/step - loss: 1.2000e-04");
  EXPECT_EQ(
      shown({.current = 4, .total = 4, .seconds = 190, .metrics = {{"loss", 0.0}}, .unit = "batch", .finished = true},
            80),
      "4/4 ━━━━━━━━━━━━━━━━━━━━ 190s 48s/batch - loss: 0.0000e+00");
  EXPECT_EQ(progress_line({.current = 1, .total = 2, .seconds = 90, .metrics = {{"loss", NAN}}}, plain),
            "1/2 ━━━━━━━━━━────────── 1:30 90s/step - loss: nan");
  EXPECT_EQ(progress_line({.current = 4, .total = 4, .seconds = 0.0002, .finished = true}, plain),
            "4/4 ━━━━━━━━━━━━━━━━━━━━ 0s 50us/step");
}

TEST(ProgressBar, CountsWithoutAKnownTotal) {
  EXPECT_EQ(shown({.current = 12, .seconds = 3, .metrics = {{"loss", 0.5}}}, 80),
            "     12/Unknown 3s 250ms/step - loss: 0.5000");
  Screen screen;
  ProgressPrinter printer({}, screen.output(0));
  printer.update(12, {{"loss", 0.5}});
  screen.now += 3;
  printer.finish();
  EXPECT_EQ(screen.text, "12/12 ━━━━━━━━━━━━━━━━━━━━ 3s 250ms/step - loss: 0.5000\n");
}

TEST(ProgressBar, CountsOnlyTheStepsThatItsClockSaw) {
  Screen screen;
  ProgressPrinter printer({.total = 79, .initial = 65}, screen.output(0));
  screen.now += 1.4;
  printer.update(79, {});
  printer.finish();
  EXPECT_EQ(screen.text, "79/79 ━━━━━━━━━━━━━━━━━━━━ 1s 100ms/step\n");
  EXPECT_EQ(shown({.current = 72, .total = 79, .initial = 65, .seconds = 14}, 80),
            "72/79 ━━━━━━━━━━━━━━━━━━── 14s 2s/step");
}

TEST(ProgressBar, EndsItsLineWhenAbandoned) {
  Screen screen;
  ProgressPrinter printer({.total = 10}, screen.output(80));
  printer.update(1, {});
  printer.abandon();
  printer.finish();
  EXPECT_EQ(screen.text, "\r 1/10 ━━────────────────── 0s 0s/step\n");
  Screen quiet;
  ProgressPrinter({.total = 10}, quiet.output(80)).abandon();
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
  const std::string_view line(text, std::fread(text, 1, sizeof text, file));
  std::fclose(file);
  EXPECT_EQ(line.find_first_of("\r\x1b"), std::string_view::npos);
  EXPECT_TRUE(line.starts_with("3/3 ")) << line;
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
