// SPDX-License-Identifier: Apache-2.0
// The curves of a training run.
#include <pando/report/plot.h>

#include <gtest/gtest.h>

#include <cmath>

#include "tests/message.h"

namespace pando::plot {
namespace {

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Curves and the samples in the legends are drawn with this width, grid lines with another.
std::size_t lines(const std::string& svg) { return occurrences(svg, "stroke-width=\"2\""); }

TEST(TrainingCurves, HaveOnePanelForTheLossesAndOneForEachMetric) {
  const std::string svg = training_curves({{"loss", {2.0, 1.0, 0.5}},
                                           {"accuracy", {0.5, 0.7, 0.8}},
                                           {"val_loss", {2.1, 1.2, 0.7}},
                                           {"val_accuracy", {0.4, 0.6, 0.7}}})
                              .svg();
  EXPECT_EQ(occurrences(svg, "font-weight=\"bold\">loss</text>"), 1u);
  EXPECT_EQ(occurrences(svg, "font-weight=\"bold\">accuracy</text>"), 1u);
  EXPECT_EQ(occurrences(svg, ">epoch</text>"), 2u);
  EXPECT_EQ(occurrences(svg, ">training</text>"), 2u);
  EXPECT_EQ(occurrences(svg, ">validation</text>"), 2u);
  EXPECT_EQ(lines(svg), 8u);
  EXPECT_EQ(occurrences(svg, "stroke-dasharray"), 4u);
  EXPECT_EQ(occurrences(svg, "stroke=\"#0072b2\""), 4u);
  EXPECT_EQ(occurrences(svg, "stroke=\"#d55e00\""), 4u);
}

TEST(TrainingCurves, ShowTheLossesOfSeveralOutputsInOnePanel) {
  const std::string svg =
      training_curves({{"loss", {3, 2}}, {"a_loss", {1, 0.5}}, {"val_loss", {3, 2.5}}, {"val_a_loss", {1, 0.9}}}).svg();
  EXPECT_EQ(occurrences(svg, ">epoch</text>"), 1u);
  for (const char* name : {">loss</text>", ">a_loss</text>", ">val_loss</text>", ">val_a_loss</text>"})
    EXPECT_GE(occurrences(svg, name), 1u) << name;
}

TEST(TrainingCurves, DrawASingleEpochAsADot) {
  const std::string svg = training_curves({{"loss", {0.5}}, {"val_loss", {0.6}}}).svg();
  EXPECT_EQ(occurrences(svg, "<circle"), 2u);
  EXPECT_EQ(lines(svg), 2u);
  EXPECT_EQ(occurrences(svg, ">1</text>"), 1u);
}

TEST(TrainingCurves, LeaveGapsWhereValuesAreNotFinite) {
  const std::string svg = training_curves({{"loss", {3, 2, NAN, 1, INFINITY, 0.5, 0.4}}}).svg();
  EXPECT_EQ(lines(svg), 1u + 2u);
  EXPECT_EQ(occurrences(svg, "<circle"), 1u);
  EXPECT_EQ(occurrences(svg, "nan"), 0u);
  EXPECT_EQ(occurrences(svg, "inf"), 0u);
  EXPECT_EQ(occurrences(training_curves({{"loss", {NAN, -INFINITY}}}).svg(), ">no finite values</text>"), 1u);
}

TEST(TrainingCurves, HaveAHeadingIfAsked) {
  EXPECT_EQ(
      occurrences(training_curves({{"loss", {1, 2}}}, {.title = "MNIST & more"}).svg(), ">MNIST &amp; more</text>"),
      1u);
}

TEST(TrainingCurves, SayWhenThereIsNothingToDraw) {
  const std::string nothing = "training_curves: there is no epoch to draw; train at least one first";
  EXPECT_EQ(message([] { training_curves({}); }), nothing);
  EXPECT_EQ(message([] { training_curves({{"loss", {}}}); }), nothing);
  EXPECT_EQ(message([] {
              training_curves({{"loss", {1}}}, {.columns = 0});
            }),
            "training_curves: 0 panels side by side draw nothing; give at least 1");
}

}  // namespace
}  // namespace pando::plot
