// SPDX-License-Identifier: Apache-2.0
#include "report/pages/run_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/file_writer.h"
#include "report/pages/assets.h"
#include "report/pages/explanation.h"
#include "report/pages/page.h"
#include "report/pictures/svg.h"
#include "report/pictures/training_curves.h"
#include "report/profile/profile.h"
#include "report/profile/timeline_view.h"
#include "report/terminal/thousands.h"

namespace pando::report {

namespace {

std::string chart_style() {
  return fmt::format(
      ".charts [stroke=\"{}\"] {{ stroke: var(--line); }}\n.charts [stroke=\"{}\"] {{ stroke: var(--grey); }}\n",
      plot::hex(plot::grid_color), plot::hex(plot::frame_color));
}

std::string facts_section(const Run& run) {
  std::string text;
  for (const FactList& list : run.facts) {
    if (list.facts.empty()) continue;
    text += fmt::format("<div><h3>{}</h3>\n<dl>\n", html_escaped(list.heading));
    for (const Fact& fact : list.facts)
      text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(fact.name), html_escaped(fact.value));
    text += "</dl></div>\n";
  }
  return text.empty() ? "" : "<div class=\"facts\">\n" + text + "</div>\n";
}

std::string headlines(const Run& run) {
  if (run.headlines.empty()) return "";
  std::string text = "<dl class=\"headlines\">\n";
  for (const Headline& headline : run.headlines)
    text +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(headline.name), html_escaped(headline.value));
  return text + "</dl>\n";
}

std::string training_section(const Run& run) {
  const std::vector<plot::TrainingPanel> panels = plot::training_panels(run.curves, run.loss_by_step);
  if (panels.empty()) return "";
  std::string text = "<div class=\"charts\">\n";
  for (const plot::TrainingPanel& panel : panels)
    text += fmt::format("<div tabindex=\"0\" data-values=\"{}\">{}</div>\n", html_escaped(panel.values),
                        plot::svg_element(panel.drawing, panel.description));
  return text + fmt::format("</div>\n<div id=\"chart-tip\"></div>\n<script>\n{}</script>\n", assets::charts_js);
}

std::string model_section(const Run& run) {
  if (run.layers.empty()) return "";
  std::string table =
      "<table class=\"layers\">\n<thead><tr><th scope=\"col\">layer</th><th scope=\"col\">output shape</th>"
      "<th scope=\"col\" class=\"number\">parameters</th></tr></thead>\n<tbody>\n";
  std::int64_t sum = 0;
  for (const LayerRow& layer : run.layers) {
    table += fmt::format("<tr><th scope=\"row\">{} <span>{}</span></th><td>{}</td><td class=\"number\">{}</td></tr>\n",
                         html_escaped(layer.name), html_escaped(layer.type), html_escaped(layer.output_shape),
                         grouped_by_thousands(layer.parameters));
    sum += layer.parameters;
  }
  table += fmt::format(
      "</tbody>\n<tfoot><tr><th scope=\"row\" colspan=\"2\">total</th><td class=\"number\">{}</td></tr></tfoot>\n"
      "</table>\n",
      grouped_by_thousands(run.parameters < 0 ? sum : run.parameters));
  return scroll_box("The layers of the model", table);
}

struct Section {
  const char* id;
  const char* title;
  // Empty if there is nothing to show.
  std::string body;
};

std::vector<Section> sections_of(const Run& run) {
  std::vector<Section> sections = {
      {"run", "The run", facts_section(run)},
      {"training", "Training", training_section(run)},
      {"mistakes", "Mistakes", mistakes_section(run)},
      {"model", "Model", model_section(run)},
      {"devices", "What ran where", explanation_html(run.explanation)},
      {"memory", "Memory", memory_section(run.memory)},
      {"timeline", "Timeline", run.timeline.empty() ? "" : timeline_view(*run.timeline.profile())}};
  std::erase_if(sections, [](const Section& section) { return section.body.empty(); });
  return sections;
}

std::string links_to(const std::vector<Section>& sections) {
  if (sections.size() < 2) return "";
  std::string links;
  for (const Section& section : sections) {
    links += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, section.title);
    if (std::string_view(section.id) == "timeline") links += timeline_links();
  }
  return "<nav aria-label=\"Sections\">\n" + links + "</nav>\n";
}

}  // namespace

std::string page(const Run& run) {
  const std::vector<Section> sections = sections_of(run);
  std::string body = fmt::format("<header>\n<h1>{}</h1>\n", html_escaped(run.title));
  if (!run.description.empty()) body += fmt::format("<p>{}</p>\n", html_escaped(run.description));
  body += headlines(run) + links_to(sections) + "</header>\n<main>\n";
  for (const Section& section : sections)
    body += fmt::format("<section>\n<h2 id=\"{}\">{}</h2>\n{}</section>\n", section.id, section.title, section.body);
  std::string style =
      fmt::format("{}{}\n{}\n{}", assets::run_page_css, chart_style(), assets::mistakes_css, assets::memory_css);
  if (!run.timeline.empty()) style += fmt::format("\n{}", assets::timeline_css);
  return html_page(run.title, style, body + "</main>\n");
}

void save(const Run& run, const std::string& path) {
  if (!path.ends_with(".html"))
    throw Error(fmt::format("report::save: '{}' is not a page; give a name that ends in .html", path));
  write_file(path, page(run));
}

void Timeline::save(const std::string& path) const {
  const bool is_page = path.ends_with(".html");
  if (!is_page && !path.ends_with(".json"))
    throw Error(fmt::format("profile: '{}' ends neither in .html, for a page, nor in .json, for a Chrome trace", path));
  const Profile nothing;
  const Profile& shown = empty() ? nothing : *profile_;
  write_file(path, is_page ? profile_page(shown) : chrome_trace(shown));
}

}  // namespace pando::report
