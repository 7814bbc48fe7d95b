// SPDX-License-Identifier: Apache-2.0
// tqdm's lines are those that Python's tqdm prints, and its bars stay out of each other's way.
#include "report/terminal/tqdm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <list>

#include "report/terminal/text_width.h"

namespace pando {
namespace {

// The bars of the standard error stream are made of what the locale has.
const int has_utf8 = setenv("LC_ALL", "C.UTF-8", 1);

const std::string described = "Loss: 0.12 | Accuracy: 97.00% ";

struct Terminal {
  explicit Terminal(int width) : columns(width) {}

  std::string text;
  int columns;
  double now = 100;
  TqdmScreen screen = {{.write = [this](std::string_view piece) { text += piece; },
                        .columns = [this] { return columns; },
                        .seconds = [this] { return now; }},
                       [this](std::string_view piece) { text += piece; }};

  // What was written since the last call.
  std::string take() { return std::exchange(text, ""); }
};

TEST(Tqdm, LinesAreThoseOfPython) {
  EXPECT_EQ(tqdm_line({.current = 67, .total = 150, .seconds = 3.1, .description = described, .rate = 21.53}, {}),
            "Loss: 0.12 | Accuracy: 97.00% :  45%|████▍     | 67/150 [00:03<00:03, 21.53it/s]");
  EXPECT_EQ(tqdm_line({.current = 0, .total = 10}, {}), "  0%|          | 0/10 [00:00<?, ?it/s]");
  EXPECT_EQ(tqdm_line({.current = 3, .total = 10, .seconds = 3.69}, {}),
            " 30%|███       | 3/10 [00:03<00:08,  1.23s/it]");
  EXPECT_EQ(tqdm_line({.current = 1, .total = 7300, .seconds = 1}, {}),
            "  0%|          | 1/7300 [00:01<2:01:39,  1.00it/s]");
  EXPECT_EQ(tqdm_line({.current = 7300, .total = 7300, .seconds = 7300, .unit = "batch"}, {}),
            "100%|██████████| 7300/7300 [2:01:40<00:00,  1.00batch/s]");
  EXPECT_EQ(tqdm_line({.current = 5, .total = 10, .seconds = 2, .postfix = "loss=0.301, accuracy=0.912"}, {}),
            " 50%|█████     | 5/10 [00:02<00:02,  2.50it/s, loss=0.301, accuracy=0.912]");
  EXPECT_EQ(tqdm_line({.current = 7, .total = 10, .seconds = 2, .initial = 5}, {}),
            " 70%|███████   | 7/10 [00:02<00:03,  1.00it/s]");
}

TEST(Tqdm, CountsWithoutATotal) {
  EXPECT_EQ(tqdm_line({.current = 12, .seconds = 1.2}, {}), "12it [00:01, 10.00it/s]");
  EXPECT_EQ(tqdm_line({.current = 12, .seconds = 1.2, .description = "Reading", .postfix = "loss=0.5"}, {}),
            "Reading: 12it [00:01, 10.00it/s, loss=0.5]");
  EXPECT_EQ(tqdm_line({.current = 0, .total = 0}, {}), "0it [00:00, ?it/s]");
  // More than there should have been.
  EXPECT_EQ(tqdm_line({.current = 11, .total = 10, .seconds = 2}, {}), "11it [00:02,  5.50it/s]");
}

TEST(Tqdm, TheBarGrowsByEighths) {
  const std::array<std::string, 9> lines = {"  0%| |", " 12%|▏|", " 25%|▎|", " 38%|▍|", " 50%|▌|",
                                            " 62%|▋|", " 75%|▊|", " 88%|▉|", "100%|█|"};
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(tqdm_line({.current = static_cast<std::int64_t>(i), .total = 8}, 7), lines[i]);
}

TEST(Tqdm, TheBarIsMadeOfAsciiWhereTheLocaleIsNotUtf8) {
  EXPECT_EQ(tqdm_line({.current = 3, .total = 8}, {}, /*unicode=*/false), " 38%|###7      | 3/8 [00:00<?, ?it/s]");
  EXPECT_EQ(tqdm_line({.current = 8, .total = 8}, {}, /*unicode=*/false), "100%|##########| 8/8 [00:00<?, ?it/s]");
}

TEST(Tqdm, TheBarFillsTheWidthOfTheTerminal) {
  const TqdmMoment moment{.current = 5, .total = 10, .seconds = 2, .description = "Epochs"};
  EXPECT_EQ(tqdm_line(moment, 60), "Epochs:  50%|████████        | 5/10 [00:02<00:02,  2.50it/s]");
  EXPECT_EQ(tqdm_line(moment, 51), "Epochs:  50%|███▌   | 5/10 [00:02<00:02,  2.50it/s]");
  EXPECT_EQ(tqdm_line({.current = 5, .total = 10, .seconds = 2, .description = "日本"}, 60),
            "日本:  50%|█████████         | 5/10 [00:02<00:02,  2.50it/s]");
  EXPECT_EQ(tqdm_line({.current = 67, .total = 150, .seconds = 3.1, .description = "Test"}, 0),
            "Test:  45% 67/150 [00:03<00:03, 21.61it/s]");
}

TEST(Tqdm, ANarrowTerminalCutsTheLineOff) {
  EXPECT_EQ(tqdm_line({.current = 67, .total = 150, .seconds = 3.1, .description = described, .rate = 21.53}, 40),
            "Loss: 0.12 | Accuracy: 97.00% :  45%|▍| ");
  EXPECT_EQ(tqdm_line({.current = 12, .seconds = 1.2}, 10), "12it [00:0");
  EXPECT_EQ(tqdm_line({.current = 1, .total = 2, .description = "日本"}, 3), "日");
}

TEST(Tqdm, ShowsControlCharactersOfDescriptionsAsEscapes) {
  const TqdmMoment moment = {
      .current = 1, .total = 2, .seconds = 1, .description = "\x1b]0;title\x07\n", .postfix = "\u202e", .rate = 1};
  EXPECT_EQ(tqdm_line(moment, 0), "\\x1b]0;title\\x07\\n:  50% 1/2 [00:01<00:01,  1.00it/s, \\u202e]");
}

TEST(Tqdm, PostfixesHaveThreeDigits) {
  EXPECT_EQ(tqdm_postfix({{"loss", 0.30123}, {"accuracy", 0.912345}}), "loss=0.301, accuracy=0.912");
  EXPECT_EQ(tqdm_postfix({{"a", 1.0}, {"b", 123456}, {"c", 1e-5}, {"d", 0.00012345}, {"e", 1e16}, {"f", -0.5}}),
            "a=1, b=1.23e+5, c=1e-5, d=0.000123, e=1e+16, f=-0.5");
  EXPECT_EQ(tqdm_postfix({{"g", 0.0}, {"h", 1234.5}, {"i", std::numeric_limits<double>::quiet_NaN()}}),
            "g=0, h=1234.5, i=nan");
}

// tqdm averages counts and times apart, 0.3 of the newest, and shows the average of all at the end.
TEST(Tqdm, TheRateIsSmoothedAndTheLastOneIsTheAverage) {
  Terminal terminal(50);
  TqdmPrinter bar({.total = 10}, terminal.screen);
  EXPECT_EQ(terminal.take(), "\r  0%|                      | 0/10 [00:00<?, ?it/s]");
  terminal.now += 1;
  bar.update(1);
  EXPECT_EQ(terminal.take(), "\r 10%|█▍            | 1/10 [00:01<00:09,  1.00it/s]");
  terminal.now += 1;
  bar.update(2);
  EXPECT_EQ(terminal.take(), "\r 30%|████▏         | 3/10 [00:02<00:04,  1.59it/s]");
  terminal.now += 2;
  bar.update(1);
  EXPECT_EQ(terminal.take(), "\r 40%|█████▌        | 4/10 [00:04<00:06,  1.10s/it]");
  terminal.now += 1;
  bar.update(6);
  terminal.take();
  bar.close();
  EXPECT_EQ(terminal.take(), "\r100%|█████████████| 10/10 [00:05<00:00,  2.00it/s]\n");
}

TEST(Tqdm, IsDrawnAtMostEveryInterval) {
  Terminal terminal(60);
  TqdmPrinter bar({.total = 1000}, terminal.screen);
  for (int i = 0; i < 1000; ++i) {
    terminal.now += 0.001;
    bar.update(1);
  }
  // The first, and one every tenth of a second.
  EXPECT_NEAR(static_cast<double>(std::count(terminal.text.begin(), terminal.text.end(), '\r')), 11, 1);
}

TEST(Tqdm, ANewDescriptionIsShownAtOnceOrWithTheNextDrawing) {
  Terminal terminal(40);
  TqdmPrinter bar({.desc = "Epochs: ", .total = 10}, terminal.screen);
  EXPECT_EQ(terminal.take(), "\rEpochs:   0%|    | 0/10 [00:00<?, ?it/s]");
  bar.set_description("Loss");
  EXPECT_EQ(terminal.take(), "");
  terminal.now += 1;
  bar.set_postfix("a=1");
  EXPECT_EQ(terminal.take(), "\rLoss:   0%| | 0/10 [00:01<?, ?it/s, a=1]");
  bar.update(1);
  EXPECT_EQ(terminal.take(), "\rLoss:  10%| | 1/10 [00:01<00:09,  1.00it");
}

TEST(Tqdm, AnInnerBarStandsBelowAndGoesWithoutLeave) {
  Terminal terminal(40);
  TqdmPrinter outer({.desc = "Out", .total = 2}, terminal.screen);
  EXPECT_EQ(terminal.take(), "\rOut:   0%|        | 0/2 [00:00<?, ?it/s]");
  {
    TqdmPrinter inner({.desc = "In", .total = 4, .leave = false}, terminal.screen);
    EXPECT_EQ(terminal.take(), "\n\rIn:   0%|         | 0/4 [00:00<?, ?it/s]\x1b[A");
    terminal.now += 1;
    inner.update(2);
    EXPECT_EQ(terminal.take(), "\n\rIn:  50%|▌| 2/4 [00:01<00:01,  2.00it/s]\x1b[A");
  }
  EXPECT_EQ(terminal.take(), "\n\r" + std::string(40, ' ') + "\r\x1b[A\rOut:   0%|        | 0/2 [00:01<?, ?it/s]");
  outer.update(2);
  terminal.take();
  outer.close();
  EXPECT_EQ(terminal.take(), "\rOut: 100%|█| 2/2 [00:01<00:00,  2.00it/s\n");
}

TEST(Tqdm, AnInnerBarWithLeaveStaysAboveTheOuterOne) {
  Terminal terminal(40);
  TqdmPrinter outer({.desc = "Out", .total = 2}, terminal.screen);
  TqdmPrinter inner({.desc = "In", .total = 4}, terminal.screen);
  terminal.now += 1;
  inner.update(4);
  terminal.take();
  inner.close();
  EXPECT_EQ(terminal.take(),
            "\rIn: 100%|█| 4/4 [00:01<00:00,  4.00it/s]\n"
            "\rOut:   0%|        | 0/2 [00:01<?, ?it/s]");
}

TEST(Tqdm, TextIsPrintedAboveTheBars) {
  Terminal terminal(30);
  TqdmPrinter outer({.total = 2}, terminal.screen), inner({.total = 4}, terminal.screen);
  terminal.take();
  inner.write("epoch 1: loss 0.3");
  EXPECT_EQ(terminal.take(), "\n\r" + std::string(30, ' ') + "\r\x1b[A\r" + std::string(30, ' ') +
                                 "\repoch 1: loss 0.3\n"
                                 "\r  0%|   | 0/2 [00:00<?, ?it/s]"
                                 "\n\r  0%|   | 0/4 [00:00<?, ?it/s]\x1b[A");
}

TEST(Tqdm, ALineIsNeverWiderThanTheTerminalOrNcols) {
  Terminal terminal(30);
  TqdmPrinter wide({.total = 2, .ncols = 50}, terminal.screen);
  EXPECT_EQ(text_width(terminal.take().substr(1)), 30);
  TqdmPrinter none({.desc = "a description of some words", .total = 2, .ncols = 0}, terminal.screen);
  EXPECT_EQ(terminal.take(), "\n\ra description of some words:  \x1b[A");
}

TEST(Tqdm, CleansUpWhenTheTerminalBecomesNarrower) {
  Terminal terminal(60);
  TqdmPrinter outer({.total = 2}, terminal.screen), inner({.total = 4}, terminal.screen);
  terminal.take();
  terminal.columns = 29;
  terminal.now += 1;
  inner.update(2);
  EXPECT_EQ(terminal.take(),
            "\r\x1b[A\x1b[A\x1b[J\r  0%|  | 0/2 [00:01<?, ?it/s]\n\r 50%|▌| 2/4 [00:01<00:01,  2.\x1b[A");
}

TEST(Tqdm, OneLineIsLeftWhereThereIsNoTerminal) {
  Terminal file(0);
  {
    TqdmPrinter outer({.desc = "Epochs", .total = 2}, file.screen);
    {
      TqdmPrinter inner({.total = 4, .leave = false}, file.screen);
      file.now += 1;
      inner.update(4);
    }
    outer.write("a line");
    outer.update(2);
    EXPECT_EQ(file.take(), "a line\n");
  }
  EXPECT_EQ(file.take(), "Epochs: 100%|██████████| 2/2 [00:01<00:00,  2.00it/s]\n");
}

TEST(Tqdm, ShowsNothingWhenDisabled) {
  Terminal terminal(40);
  {
    TqdmPrinter bar({.total = 2, .disable = true}, terminal.screen);
    terminal.now += 1;
    bar.update(1);
    bar.set_description("Loss");
    bar.restart();
  }
  EXPECT_EQ(terminal.take(), "");
}

// The rest is seen by users: loops over everything, on a standard error stream that is not a terminal.

// The line without what differs from run to run.
std::string untimed(const std::string& line) {
  const std::size_t rate = line.rfind(", ");
  return rate == std::string::npos ? line : line.substr(0, rate);
}

TEST(Tqdm, LoopsOverNumbers) {
  testing::internal::CaptureStderr();
  std::vector<int> seen;
  for (int epoch : tqdm(1, 4, {.desc = "Epochs"})) seen.push_back(epoch);
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(untimed(testing::internal::GetCapturedStderr()), "Epochs: 100%|██████████| 3/3 [00:00<00:00");
  seen.clear();
  const std::int64_t many = 3;
  for (std::int64_t i : tqdm(many, {.leave = false})) seen.push_back(static_cast<int>(i));
  for (std::int64_t i : tqdm(0, many, {.disable = true})) seen.push_back(static_cast<int>(i));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 0, 1, 2}));
}

TEST(Tqdm, HoldsNamedRangesByReferenceAndOthersByValue) {
  std::vector<int> numbers = {1, 2, 3};
  for (int& number : tqdm(numbers, {.leave = false})) number *= 2;
  EXPECT_EQ(numbers, (std::vector<int>{2, 4, 6}));
  auto bar = tqdm(std::vector<std::string>{"a", "b"}, {.leave = false});
  std::string all;
  for (int pass = 0; pass < 2; ++pass)
    for (const std::string& word : bar) all += word;
  EXPECT_EQ(all, "abab");
  const std::list<int> fixed = {7};
  for (const int& number : tqdm(fixed, {.leave = false})) EXPECT_EQ(&number, &fixed.front());
}

TEST(Tqdm, IsClosedHoweverTheLoopIsLeft) {
  testing::internal::CaptureStderr();
  std::array<int, 4> numbers = {};
  auto bar = tqdm(numbers);
  for (int& number : bar)
    if (&number == &numbers[2]) break;
  EXPECT_EQ(untimed(testing::internal::GetCapturedStderr()).substr(0, 28), " 50%|█████     | 2");
  testing::internal::CaptureStderr();
  EXPECT_THROW(for (int number : tqdm(numbers)) throw number, int);
  EXPECT_EQ(testing::internal::GetCapturedStderr().substr(0, 16), "  0%|          |");
}

TEST(Tqdm, BarsCanBeUpdatedByHand) {
  testing::internal::CaptureStderr();
  {
    TqdmBar bar({.desc = "Reading", .total = 100, .unit = "B"});
    bar.update(40);
    bar.set_postfix({{"loss", 0.5}, {"accuracy", 1.0}});
    bar.set_postfix("file 1");
    bar.update(60);
  }
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(untimed(untimed(line)), "Reading: 100%|██████████| 100/100 [00:00<00:00");
  EXPECT_TRUE(line.ends_with("B/s, file 1]\n")) << line;
}

}  // namespace
}  // namespace pando
