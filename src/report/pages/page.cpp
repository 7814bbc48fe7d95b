#include "report/pages/page.h"

#include <fmt/format.h>

#include "report/pictures/drawing.h"

namespace pando {

namespace {

// The colours of lines and bars are Okabe and Ito's, which the colour-blind can tell apart.
constexpr std::string_view shared_style = R"page(
:root { color-scheme: light dark; --page: #fff; --ink: #1c2126; --faint: #5d6770; --line: #d9dee3; --soft: #f3f5f7;
  --blue: #0072b2; --orange: #d55e00; --green: #009e73; --pink: #cc79a7; --sky: #56b4e9; --yellow: #e69f00;
  --grey: #a3a8ad; }
@media (prefers-color-scheme: dark) { :root { --page: #15181b; --ink: #e6e9ec; --faint: #9aa4ad; --line: #343b42;
  --soft: #1f2429; --grey: #6b7278; --blue: #3a94cf; --orange: #e8762c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; }
p { margin: .3rem 0; }
.faint { color: var(--faint); font-size: .87rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--faint); font-size: .87rem; }
th, td { padding: .25rem .5rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: middle; }
th.number, td.number { text-align: right; white-space: nowrap; }
.scroll { overflow-x: auto; }
.scroll td, .scroll th { white-space: nowrap; }
:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
)page";

}  // namespace

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
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_escaped(title), shared_style, style, body);
}

}  // namespace pando
