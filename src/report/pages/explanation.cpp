// SPDX-License-Identifier: Apache-2.0
#include "report/pages/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "report/pages/page.h"

namespace pando::report {

namespace {

using Lines = std::vector<std::string_view>;

// Lines without a blank one between them.
std::vector<Lines> paragraphs_of(std::string_view text) {
  std::vector<Lines> paragraphs(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty()) paragraphs.back().push_back(line);
    else if (!paragraphs.back().empty()) paragraphs.emplace_back();
  }
  if (paragraphs.back().empty()) paragraphs.pop_back();
  return paragraphs;
}

std::string_view trimmed(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

// Joins each line that begins so to those after it that do not.
std::vector<std::string> joined(const Lines& lines, const auto& begins) {
  std::vector<std::string> result;
  for (const std::string_view line : lines) {
    if (begins(line) || result.empty()) result.emplace_back(line);
    else result.back() += fmt::format(" {}", trimmed(line));
  }
  return result;
}

// "Devices      1 IPU" has a label and a value.
bool is_labelled(std::string_view line) { return line.front() != ' ' && line.find("  ") != std::string_view::npos; }

std::string labelled_html(const Lines& lines) {
  std::string text = "<div class=\"facts\"><dl>\n";
  for (const std::string& line : joined(lines, is_labelled)) {
    const std::size_t end = line.find("  ");
    const std::string_view label = std::string_view(line).substr(0, end);
    text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(label),
                        html_escaped(trimmed(std::string_view(line).substr(label.size()))));
  }
  return text + "</dl></div>\n";
}

bool is_item(std::string_view line) { return trimmed(line).starts_with("- "); }

std::string listed_html(const Lines& lines) {
  std::string text = "<ul>\n";
  for (const std::string& item : joined(lines, is_item))
    text += fmt::format("<li>{}</li>\n", html_escaped(trimmed(item).substr(2)));
  return text + "</ul>\n";
}

std::string aligned_html(const Lines& lines) {
  std::size_t indent = std::string_view::npos;
  for (const std::string_view line : lines) indent = std::min(indent, line.find_first_not_of(' '));
  std::string text;
  // Line by line, because line ends are not readable text.
  for (const std::string_view line : lines) text += html_escaped(line.substr(std::min(indent, line.size()))) + "\n";
  return scroll_box("Aligned text", "<pre>" + text + "</pre>");
}

std::string paragraph_html(const Lines& lines) {
  if (is_labelled(lines.front())) return labelled_html(lines);
  if (lines.front().front() == ' ') return aligned_html(lines);
  if (lines.size() == 1) return fmt::format("<p>{}</p>\n", html_escaped(lines.front()));
  const Lines rest(lines.begin() + 1, lines.end());
  return fmt::format("<h3>{}</h3>\n", html_escaped(lines.front())) +
         (is_item(rest.front()) ? listed_html(rest) : aligned_html(rest));
}

}  // namespace

std::string explanation_html(const std::string& text) {
  std::string html;
  for (const Lines& lines : paragraphs_of(text)) html += paragraph_html(lines);
  return html;
}

}  // namespace pando::report
