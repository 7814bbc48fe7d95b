// SPDX-License-Identifier: Apache-2.0
// Pages for a browser, each one file that needs nothing else: what all of them share.
#pragma once
#include <string>
#include <string_view>

namespace pando {

// Any text, escaped for a page or an SVG file, also between double quotes.
std::string html_escaped(std::string_view text);

// Content that is wider than the page scrolls in its own box, which the keyboard reaches under this name.
std::string scroll_box(std::string_view name, std::string_view content);

// The whole text. `title` is escaped here; the colours and type of all pages come before `style`.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

}  // namespace pando
