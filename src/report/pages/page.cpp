// SPDX-License-Identifier: Apache-2.0
#include "report/pages/page.h"

#include <fmt/format.h>

#include "report/pages/assets.h"
#include "report/pictures/drawing.h"

namespace pando {

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char c : plot::readable_text(text)) {
    if (c == '&') safe += "&amp;";
    else if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '"') safe += "&quot;";
    else safe += c;
  }
  return safe;
}

std::string scroll_box(std::string_view name, std::string_view content) {
  return fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</div>\n",
                     html_escaped(name), content);
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>\n{}\n{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_escaped(title), assets::page_css, style, body);
}

}  // namespace pando
