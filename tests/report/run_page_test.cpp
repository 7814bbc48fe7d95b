// SPDX-License-Identifier: Apache-2.0
// The page about a training run: what it holds, what it leaves out, and what it refuses.
#include <gtest/gtest.h>
#include <pando/report/report.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "report/pages/explanation.h"
#include "report/pages/confusion.h"
#include "report/profile/profile.h"
#include "tests/message.h"

namespace pando::report {
namespace {

// In a test's body Run is a function of GoogleTest's.
using Shown = Run;

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Four samples of three classes; a 2 is taken for a 0 surely, a 0 for a 1 barely.
Shown classified() {
  return {.labels = Array::of<std::int32_t>({0, 1, 2, 0}, {4}),
          .probabilities = Array::of<float>({.8f, .1f, .1f, .1f, .8f, .1f, .9f, .05f, .05f, .4f, .5f, .1f}, {4, 3})};
}

Timeline timeline() {
  auto profile = std::make_shared<Profile>();
  profile->devices = {"device"};
  profile->events = {{.op = "matmul", .layer = "dense", .begin = 0, .duration = 5}};
  return Timeline(profile);
}

TEST(RunPage, OfNothingHasATitleAndNoSection) {
  const std::string text = page({.title = "Empty"});
  EXPECT_TRUE(text.starts_with("<!DOCTYPE html>\n<html lang=\"en\">\n"));
  EXPECT_TRUE(text.ends_with("</body>\n</html>\n"));
  EXPECT_TRUE(holds(text, "<title>Empty</title>"));
  EXPECT_TRUE(holds(text, "<h1>Empty</h1>"));
  for (const char* part : {"<h2", "<nav", "<dl", "<table", "<script", "<svg", "<img", "<pre"})
    EXPECT_FALSE(holds(text, part)) << part;
}

TEST(RunPage, HasASectionForWhateverIsGiven) {
  const std::pair<Shown, const char*> runs[] = {
      {{.facts = {{"Hyperparameters", {{"seed", "7"}}}}}, "<h2 id=\"run\">The run</h2>"},
      {{.curves = {{"loss", {1, 0.5}}}}, "<h2 id=\"training\">Training</h2>"},
      {{.loss_by_step = {.values = {1, 0.5}}}, "<h2 id=\"training\">Training</h2>"},
      {classified(), "<h2 id=\"mistakes\">Mistakes</h2>"},
      {{.layers = {{"dense", "Dense", "(None, 10)", 7850}}}, "<h2 id=\"model\">Model</h2>"},
      {{.explanation = "Model"}, "<h2 id=\"devices\">What ran where</h2>"},
      {{.memory = {{"host", {{"weights", 1}}}}}, "<h2 id=\"memory\">Memory</h2>"},
      {{.timeline = timeline()}, "<h2 id=\"timeline\">Timeline</h2>"}};
  for (const auto& [run, heading] : runs) {
    for (const auto& [other, absent] : runs)
      EXPECT_EQ(holds(page(run), absent), std::string_view(absent) == heading) << absent;
  }
}

TEST(RunPage, NeedsNothingFromElsewhere) {
  Shown run = classified();
  run.curves = {{"loss", {1, 0.5}}};
  run.images = Array(DType::uint8, {4, 2, 2});
  run.timeline = timeline();
  const std::string text = page(run);
  EXPECT_FALSE(holds(text, "http"));
  EXPECT_FALSE(holds(text, "@import"));
  EXPECT_FALSE(holds(text, "url("));
  EXPECT_FALSE(holds(text, "<link"));
  EXPECT_EQ(count_of(text, "src="), 2u);
  EXPECT_EQ(count_of(text, "src=\"data:image/png;base64,"), 2u);
}

TEST(RunPage, EscapesEveryTextThatItIsGiven) {
  const std::string hostile = "<b>\"&'</script><!--\xff";
  Shown run = classified();
  run.title = run.description = hostile;
  run.headlines = {{hostile, hostile}};
  run.facts = {{hostile, {{hostile, hostile}}}};
  run.curves = {{hostile, {1, 2}}};
  run.class_names = {hostile, hostile, hostile};
  run.images = Array(DType::uint8, {4, 2, 2});
  run.layers = {{hostile, hostile, hostile, 1}};
  // A label and its value, a heading with a list, and a heading with aligned text.
  run.explanation = hostile + "  " + hostile + "\n\n" + hostile + "\n  - " + hostile + "\n\n" + hostile + "\n  " +
                    hostile + "\n  " + hostile;
  run.memory = {{hostile, {{hostile, 1, hostile}}}};
  const std::string text = page(run);
  EXPECT_FALSE(holds(text, "<b>"));
  EXPECT_FALSE(holds(text, "<!--"));
  EXPECT_FALSE(holds(text, "\"&'"));
  EXPECT_EQ(count_of(text, "</script>"), 1u) << "the end of the page's own";
  EXPECT_TRUE(holds(text, "<h1>&lt;b&gt;&quot;&amp;'&lt;/script&gt;&lt;!--?</h1>"));
  EXPECT_TRUE(holds(text, "&lt;!--?\n&lt;b&gt;")) << "the explanation keeps its lines";
}

TEST(RunPage, ShowsAnExplanationAsListsAndAlignedText) {
  const std::string html = report::explanation_html(
      "Model \"cnn\", training\n\n"
      "Devices      2 IPUs\n"
      "Reduction    sum of 16 gradients: adam divides\n"
      "             by their size\n\n"
      "Work of a micro-batch: 4.0 MFLOP\n"
      "  stage 0   13.3 %  ###\n"
      "  stage 1   86.7 %  #####\n\n"
      "Hints\n"
      "  - stage 1 does 87 % of the work, and\n"
      "    the other waits\n"
      "  - use fewer stages\n");
  for (const char* part :
       {"<p>Model &quot;cnn&quot;, training</p>\n", "<div><dt>Devices</dt><dd>2 IPUs</dd></div>\n",
        "<dt>Reduction</dt><dd>sum of 16 gradients: adam divides by their size</dd>",
        "<h3>Work of a micro-batch: 4.0 MFLOP</h3>\n", "<pre>stage 0   13.3 %  ###\nstage 1   86.7 %  #####\n</pre>",
        "<h3>Hints</h3>\n<ul>\n<li>stage 1 does 87 % of the work, and the other waits</li>\n"
        "<li>use fewer stages</li>\n</ul>\n"})
    EXPECT_TRUE(holds(html, part)) << part << "\n" << html;
  EXPECT_EQ(report::explanation_html(""), "");
}

TEST(RunPage, ShowsFirstHowTheRunWasSetUp) {
  const std::string text = page({.facts = {{"Hyperparameters", {{"optimizer", "adamw"}, {"seed", "7"}}},
                                           {"Empty", {}},
                                           {"Where it comes from", {{"command", "pando train mlp"}}}},
                                 .curves = {{"loss", {1, 0.5}}}});
  EXPECT_TRUE(holds(text,
                    "<h3>Hyperparameters</h3>\n<dl>\n<div><dt>optimizer</dt><dd>adamw</dd></div>\n"
                    "<div><dt>seed</dt><dd>7</dd></div>\n</dl>"));
  EXPECT_TRUE(holds(text, "<dt>command</dt><dd>pando train mlp</dd>"));
  EXPECT_FALSE(holds(text, "Empty"));
  EXPECT_LT(text.find("id=\"run\""), text.find("id=\"training\""));
}

TEST(RunPage, LinksToAllItsHeadings) {
  Shown run = classified();
  run.facts = {{"Hyperparameters", {{"seed", "7"}}}};
  run.curves = {{"loss", {1, 0.5}}};
  run.layers = {{"dense", "Dense", "(None, 10)", 7850}};
  run.memory = {{"host", {{"weights", 1}}}};
  run.explanation = "Model";
  run.timeline = timeline();
  const std::string text = page(run);
  for (const char* id :
       {"run", "training", "mistakes", "model", "devices", "memory", "timeline", "layer-times", "live-memory"}) {
    EXPECT_TRUE(holds(text, std::string("<a href=\"#") + id + "\">")) << id;
    EXPECT_EQ(count_of(text, std::string("id=\"") + id + "\""), 1u) << id;
  }
  EXPECT_EQ(count_of(text, "<h2"), 9u);
}

TEST(RunPage, SaysWhatThePartsOfMemoryAreFor) {
  const std::string text = page({.memory = {{"stage 0", {{"weights", 1024, "The parameters."}, {"other", 1}}},
                                            {"stage 1", {{"weights", 1024, "The parameters."}}}}});
  EXPECT_EQ(count_of(text, "<dt>weights</dt><dd>The parameters.</dd>"), 1u);
  EXPECT_FALSE(holds(text, "<dt>other</dt>"));
}

TEST(RunPage, ShowsHeadlinesLayersAndMemory) {
  const std::string text =
      page({.headlines = {{"test accuracy", "98.9 %"}},
            .layers = {{"conv2d", "Conv2D", "(None, 26, 26, 32)", 320}, {"dense", "Dense", "(None, 10)", 7850}},
            .memory = {{"stage 0", {{"weights", 1024}, {"stash", 3072}}}, {"stage 1", {{"weights", 2048}}}}});
  EXPECT_TRUE(holds(text, "<dt>test accuracy</dt><dd>98.9 %</dd>"));
  EXPECT_TRUE(holds(
      text,
      "<th scope=\"row\">conv2d <span>Conv2D</span></th><td>(None, 26, 26, 32)</td><td class=\"number\">320</td>"));
  EXPECT_TRUE(holds(text, "colspan=\"2\">total</th><td class=\"number\">8,170</td>"));
  EXPECT_TRUE(holds(
      text, "<td class=\"number\">1.0 KiB</td><td class=\"number\">3.0 KiB</td><td class=\"number\">4.0 KiB</td>"));
  EXPECT_TRUE(
      holds(text, "<td class=\"number\">2.0 KiB</td><td class=\"number\">0 B</td><td class=\"number\">2.0 KiB</td>"))
      << "a device without a part has none of it";
}

TEST(RunPage, CountsSharedParametersOnceIfToldSo) {
  EXPECT_TRUE(holds(page({.layers = {{"a", "Dense", "(None, 1)", 5}, {"b", "Dense", "(None, 1)", 5}}, .parameters = 5}),
                    "total</th><td class=\"number\">5</td>"));
}

TEST(RunPage, DescribesCurvesInWords) {
  const std::string text =
      page({.curves = {{"loss", {0.5, 0.25}}, {"val_loss", {0.75, 0.5}}, {"accuracy", {0.125, 1}}}});
  EXPECT_EQ(count_of(text, "<svg"), 2u) << "one for losses, one for accuracies";
  EXPECT_TRUE(holds(text, "aria-label=\"loss by epoch; loss: from 0.5 to 0.25; val_loss: from 0.75 to 0.5\""));
  EXPECT_TRUE(holds(text, "aria-label=\"accuracy by epoch; accuracy: from 0.125 to 1\""));
}

std::vector<std::string> sizes_of_drawings(const std::string& text) {
  std::vector<std::string> sizes;
  const std::string begin = "<svg viewBox=\"";
  for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
    sizes.push_back(text.substr(at + begin.size(), text.find('"', at + begin.size()) - at - begin.size()));
  return sizes;
}

TEST(RunPage, DrawsTheLossOfEveryStepAndAllChartsInOneSize) {
  const std::string text = page({.curves = {{"loss", {0.5, 0.25}}, {"a_metric_of_large_values", {1e5, 2e5}}},
                                 .loss_by_step = {.first = 100, .steps_each = 8, .values = {1, 0.5, 0.25}}});
  EXPECT_TRUE(holds(text, "aria-label=\"loss by step; loss: from 1 to 0.25\""));
  const std::vector<std::string> sizes = sizes_of_drawings(text);
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_EQ(sizes[0], sizes[2]);
}

TEST(RunPage, HasTheValuesOfItsChartsForThePointer) {
  const std::string text = page({.curves = {{"loss", {0.5, NAN}}, {"val_loss", {0.75, 0.123456}}},
                                 .loss_by_step = {.first = 100, .steps_each = 8, .values = {1, 0.5}}});
  EXPECT_TRUE(holds(text, "&quot;at&quot;:[1,2]"));
  EXPECT_TRUE(holds(text, "&quot;at&quot;:[108,116]")) << "an earlier run did 100 steps";
  EXPECT_TRUE(holds(text, ",null],[&quot;0.5&quot;,&quot;nan&quot;]]"));
  EXPECT_TRUE(holds(text, "[&quot;validation&quot;,["));
  EXPECT_TRUE(holds(text, "[&quot;0.75&quot;,&quot;0.12346&quot;]"));
}

TEST(RunPage, ShowsWhatIsTakenForWhat) {
  Shown run = classified();
  run.class_names = {"zero", "one", "two"};
  run.images = Array(DType::uint8, {4, 2, 2});
  const std::string text = page(run);
  EXPECT_TRUE(holds(text, "<p>2 of 4 samples are taken for another class: 50.00 %.</p>"));
  EXPECT_TRUE(holds(text, "<h3>two taken for zero: once</h3>"));
  EXPECT_TRUE(holds(text, "alt=\"sample 2, two taken for zero\"><figcaption>90 %</figcaption>"));
  EXPECT_TRUE(holds(text, "alt=\"sample 3, zero taken for one\"><figcaption>50 %</figcaption>"));
  EXPECT_TRUE(holds(text,
                    "<th scope=\"row\" title=\"zero\">zero</th><td class=\"right\" style=\"--part: 50%\" "
                    "title=\"50.0 % of the row\">1</td>"));
  EXPECT_TRUE(
      holds(text, "<th scope=\"col\" rowspan=\"2\">true</th><th scope=\"colgroup\" colspan=\"3\">predicted</th>"));
  EXPECT_TRUE(holds(text, "<td class=\"share\">50.0 %</td>"));
}

TEST(RunPage, LeavesOutAMatrixThatNobodyCanRead) {
  Shown run{.labels = Array(DType::int32, {41}), .probabilities = Array(DType::float32, {41, 41})};
  for (int i = 0; i < 41; ++i) run.probabilities.mutable_data<float>()[i * 41 + 1] = 1;
  const std::string text = page(run);
  EXPECT_FALSE(holds(text, "<table"));
  EXPECT_TRUE(holds(text, "<h3>0 taken for 1: 41 times</h3>"));
}

// 94 and 213 mistakes must not look the same.
TEST(RunPage, ColorsMistakesByTheirShareOfTheLargest) {
  Shown run{.labels = Array(DType::int32, {20}), .probabilities = Array(DType::float32, {20, 3})};
  // Ten samples of label 0, of which four are taken for 1 and two for 2; ten of label 1, all right.
  for (int i = 0; i < 20; ++i) {
    run.labels.mutable_data<std::int32_t>()[i] = i < 10 ? 0 : 1;
    run.probabilities.mutable_data<float>()[i * 3 + (i < 4 ? 1 : i < 6 ? 2 : i < 10 ? 0 : 1)] = 1;
  }
  const std::string text = page(run);
  EXPECT_TRUE(holds(text, "<td class=\"wrong strong\" style=\"--part: 100%\" title=\"40.0 % of the row\">4</td>"));
  EXPECT_TRUE(holds(text, "<td class=\"wrong\" style=\"--part: 50%\" title=\"20.0 % of the row\">2</td>"));
  EXPECT_TRUE(holds(text, "<td class=\"right\" style=\"--part: 40%\" title=\"40.0 % of the row\">4</td>"));
  EXPECT_TRUE(holds(text, "taken for another class, 0 to 40.0 %"));
}

TEST(RunPage, ShowsAClassWithoutSamples) {
  const Shown run{.labels = Array::of<std::int32_t>({0}, {1}), .probabilities = Array::of<float>({1, 0}, {1, 2})};
  EXPECT_TRUE(holds(page(run), "<td class=\"share\">none</td>"));
}

TEST(Confusion, PutsFrequentPairsAndSureMistakesFirst) {
  const Array labels = Array::of<std::int64_t>({0, 0, 1, 1, 1}, {5, 1});
  const Array scores = Array::of<double>({-1, 5, -1, 7, 3, 1, 9, 1, 1, 9}, {5, 2});
  const Confusion confusion = confusion_of("test", labels, scores);
  EXPECT_EQ(confusion.wrong, 4);
  EXPECT_FALSE(confusion.scores_are_probabilities);
  ASSERT_EQ(confusion.pairs.size(), 2u);
  EXPECT_EQ(confusion.pairs[0].label, 0);
  EXPECT_EQ(confusion.pairs[0].mistakes[0].sample, 1);
  EXPECT_EQ(confusion.pairs[1].mistakes[0].sample, 3);
  EXPECT_EQ(confusion.count(1, 0), 2);
  EXPECT_EQ(confusion.samples_of(1), 3);
}

TEST(Confusion, TakesOneHotLabelsAndScoresThatAreNoNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Confusion confusion =
      confusion_of("test", Array::of<float>({0, 1, 1, 0}, {2, 2}), Array::of<double>({nan, .5, nan, nan}, {2, 2}));
  EXPECT_EQ(confusion.wrong, 0);
}

TEST(RunPage, RefusesArraysThatDoNotFit) {
  const auto refusal = [](auto change) {
    Shown run = classified();
    change(run);
    return message([&] { page(run); });
  };
  EXPECT_EQ(
      refusal([](Shown& run) {
        run.probabilities = Array(DType::float32, {4, 1});
      }),
      "report: probabilities of the shape [4, 1] are not one score for each of several classes; give [n, classes]");
  EXPECT_EQ(refusal([](Shown& run) { run.labels = Array(DType::int32, {3}); }),
            "report: labels of the shape [3] do not belong to probabilities of the shape [4, 3]; give [4], or one-hot "
            "[4, 3]");
  EXPECT_EQ(refusal([](Shown& run) {
              run.labels = Array::of<float>({0, 1, 2, 3}, {4});
            }),
            "report: label 3 is 3 but there are 3 classes, so labels must be 0 to 2");
  EXPECT_EQ(refusal([](Shown& run) {
              run.labels = Array::of<float>({0, 1, 0.5, 2}, {4});
            }),
            "report: label 2 is 0.5 but there are 3 classes, so labels must be 0 to 2");
  EXPECT_EQ(refusal([](Shown& run) {
              run.class_names = {"a", "b"};
            }),
            "report: 2 class names were given for 3 classes; give one for each, or none");
  EXPECT_EQ(refusal([](Shown& run) {
              run.images = Array(DType::uint8, {3, 2, 2});
            }),
            "report: 3 images do not belong to probabilities of 4 samples; give one for each, or none");
  EXPECT_EQ(refusal([](Shown& run) {
              run.images = Array(DType::uint8, {4, 4});
            }),
            "report: images of the shape [4, 4] cannot be drawn; give [n, height, width], [n, height, width, 1] or "
            "[n, height, width, 3], at least one");
}

TEST(RunPage, IsSavedAsAWholeOrNotAtAll) {
  const std::string path = testing::TempDir() + "run_page_test.html";
  save({.title = "Saved"}, path);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), page({.title = "Saved"}));
  EXPECT_EQ(message([] { save({}, "run.txt"); }),
            "report::save: 'run.txt' is not a page; give a name that ends in .html");
  EXPECT_EQ(message([] { save({}, "/nowhere/run.html"); }),
            "/nowhere/run.html: cannot be written: No such file or directory; check its folder and permissions");
}

TEST(Timelines, AreSavedByTheirEnding) {
  EXPECT_TRUE(Timeline().empty());
  EXPECT_EQ(message([] { timeline().save("run.txt"); }),
            "profile: 'run.txt' ends neither in .html, for a page, nor in .json, for a Chrome trace");
}

}  // namespace
}  // namespace pando::report
