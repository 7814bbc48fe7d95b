// SPDX-License-Identifier: Apache-2.0
// The styles and scripts of pages: the .css and .js files of report/, which cmake/embed.cmake turns into strings. A new
// file is also a line in the list PANDO_ASSETS of src/CMakeLists.txt.
#pragma once
#include <string_view>

namespace pando::assets {

// All pages. The colours of lines and bars are Okabe and Ito's, which the colour-blind can tell apart.
extern const std::string_view page_css;

// The page of a run, and two of its sections.
extern const std::string_view run_page_css;
extern const std::string_view mistakes_css;
extern const std::string_view memory_css;

// Values under the pointer, for the charts of a run. The script reads them from attributes of the charts.
extern const std::string_view charts_js;

// The timeline of a profile. The script, in two files, reads its data from the element "timeline-data".
extern const std::string_view timeline_css;
extern const std::string_view timeline_js;
extern const std::string_view timeline_tables_js;

}  // namespace pando::assets
