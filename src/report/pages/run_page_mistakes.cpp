// SPDX-License-Identifier: Apache-2.0
#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>

#include "report/pages/confusion.h"
#include "report/pages/data_uri.h"
#include "report/pictures/images.h"
#include "report/pages/page.h"
#include "report/pages/run_page.h"
#include "report/terminal/thousands.h"

namespace pando::report {

namespace {

constexpr const char* who = "report";
// A larger matrix shows nothing that the pairs do not.
constexpr std::int64_t most_classes = 40;
constexpr std::size_t shown_pairs = 6;
constexpr std::size_t shown_images = 5;
constexpr std::int64_t thumbnail_side = 112;

std::string class_name(const Run& run, std::int64_t label) {
  return run.class_names.empty() ? fmt::format("{}", label) : run.class_names[static_cast<std::size_t>(label)];
}

// The part of the samples of a label that was taken for a class.
double share_of(const Confusion& confusion, std::int64_t label, std::int64_t said) {
  const std::int64_t samples = confusion.samples_of(label);
  return samples == 0 ? 0 : static_cast<double>(confusion.count(label, said)) / static_cast<double>(samples);
}

// Mistakes are few, so their colour has a scale of its own, from none to the largest share; the legend names it.
double largest_mistake(const Confusion& confusion) {
  double largest = 0;
  for (const ConfusedPair& pair : confusion.pairs)
    largest = std::max(largest, share_of(confusion, pair.label, pair.said));
  return largest;
}

std::string cell(const Confusion& confusion, std::int64_t label, std::int64_t said, double largest) {
  const std::int64_t count = confusion.count(label, said);
  if (count == 0) return "<td class=\"none\">0</td>";
  const bool right = label == said;
  const double share = share_of(confusion, label, said), part = right ? share : share / largest;
  return fmt::format("<td class=\"{}{}\" style=\"--part: {:.0f}%\" title=\"{:.1f} % of the row\">{}</td>",
                     right ? "right" : "wrong", part > 0.55 ? " strong" : "", 100 * part, 100 * share, count);
}

std::string legend_of_matrix(double largest) {
  std::string text =
      "<p class=\"faint scales\">Share of the row: <span><i class=\"right\"></i> right, 0 to 100 %</span>";
  if (largest > 0)
    text += fmt::format(" <span><i class=\"wrong\"></i> taken for another class, 0 to {:.1f} %</span>", 100 * largest);
  return text + "</p>\n";
}

std::string matrix(const Run& run, const Confusion& confusion) {
  const double largest = largest_mistake(confusion);
  // Headings stand upright if a name is longer than a number, so that all columns have the same width.
  const bool upright = std::any_of(run.class_names.begin(), run.class_names.end(),
                                   [](const std::string& name) { return name.size() > 3; });
  std::string text = fmt::format(
      "<table class=\"matrix{}\">\n<thead><tr><th scope=\"col\" rowspan=\"2\">true</th><th scope=\"colgroup\" "
      "colspan=\"{}\">predicted</th><th scope=\"col\" rowspan=\"2\">right</th></tr>\n<tr>",
      upright ? " upright" : "", confusion.classes);
  for (std::int64_t said = 0; said < confusion.classes; ++said) {
    const std::string name = html_escaped(class_name(run, said));
    text += fmt::format("<th scope=\"col\" title=\"{0}\"><span>{0}</span></th>", name);
  }
  text += "</tr></thead>\n<tbody>\n";
  for (std::int64_t label = 0; label < confusion.classes; ++label) {
    const std::string name = html_escaped(class_name(run, label));
    text += fmt::format("<tr><th scope=\"row\" title=\"{0}\">{0}</th>", name);
    for (std::int64_t said = 0; said < confusion.classes; ++said) text += cell(confusion, label, said, largest);
    const std::int64_t samples = confusion.samples_of(label);
    text += samples == 0
                ? "<td class=\"share\">none</td></tr>\n"
                : fmt::format("<td class=\"share\">{:.1f} %</td></tr>\n", 100 * share_of(confusion, label, label));
  }
  return legend_of_matrix(largest) +
         scroll_box("How often each true class was taken for which class", text + "</tbody>\n</table>\n");
}

// The images of a pair's surest mistakes.
std::string images_of_pair(const Run& run, const Confusion& confusion, const ConfusedPair& pair) {
  if (run.images.elements() == 0) return "";
  std::vector<std::int64_t> samples;
  for (const Mistake& mistake : pair.mistakes)
    if (samples.size() < shown_images) samples.push_back(mistake.sample);
  const plot::Images images = plot::images_of(who, take(run.images, samples), std::ssize(samples));
  std::string text = "<ul>\n";
  for (std::int64_t i = 0; i < images.count; ++i) {
    const Mistake& mistake = pair.mistakes[static_cast<std::size_t>(i)];
    const std::string score =
        confusion.scores_are_probabilities ? fmt::format("{:.0f} %", 100 * mistake.score) : std::string();
    text += fmt::format(
        "<li><figure><img src=\"{}\" alt=\"sample {}, {} taken for {}\"><figcaption>{}</figcaption></figure></li>\n",
        plot::png_data_uri(plot::thumbnail_of(images, i, thumbnail_side)), mistake.sample,
        html_escaped(class_name(run, pair.label)), html_escaped(class_name(run, pair.said)), score);
  }
  return text + "</ul>\n";
}

std::string pairs_list(const Run& run, const Confusion& confusion) {
  if (confusion.pairs.empty()) return "";
  std::string text = "<div class=\"pairs\">\n";
  for (std::size_t i = 0; i < std::min(shown_pairs, confusion.pairs.size()); ++i) {
    const ConfusedPair& pair = confusion.pairs[i];
    text += fmt::format("<div>\n<h3>{} taken for {}: {}</h3>\n{}</div>\n", html_escaped(class_name(run, pair.label)),
                        html_escaped(class_name(run, pair.said)),
                        pair.mistakes.size() == 1 ? "once" : grouped_by_thousands(std::ssize(pair.mistakes)) + " times",
                        images_of_pair(run, confusion, pair));
  }
  return text + "</div>\n";
}

void check_names_and_images(const Run& run, const Confusion& confusion) {
  if (!run.class_names.empty() && std::ssize(run.class_names) != confusion.classes)
    throw Error(fmt::format("{}: {} class names were given for {} classes; give one for each, or none", who,
                            run.class_names.size(), confusion.classes));
  if (run.images.elements() == 0) return;
  plot::check_images(who, run.images);
  if (run.images.shape()[0] != confusion.samples)
    throw Error(fmt::format("{}: {} images do not belong to probabilities of {} samples; give one for each, or none",
                            who, run.images.shape()[0], confusion.samples));
}

}  // namespace

std::string mistakes_section(const Run& run) {
  if (run.labels.elements() == 0 && run.probabilities.elements() == 0) return "";
  const Confusion confusion = confusion_of(who, run.labels, run.probabilities);
  check_names_and_images(run, confusion);
  const double share = static_cast<double>(confusion.wrong) / static_cast<double>(confusion.samples);
  std::string text =
      fmt::format("<p>{} of {} samples are taken for another class: {:.2f} %.</p>\n",
                  grouped_by_thousands(confusion.wrong), grouped_by_thousands(confusion.samples), 100 * share);
  if (confusion.classes <= most_classes) text += matrix(run, confusion);
  return text + pairs_list(run, confusion);
}

}  // namespace pando::report
