// The timeline of a profile inside a page: every event on a canvas, time by layer, memory over the step.
#pragma once
#include <string>
#include <string_view>

#include "report/profile/profile.h"

namespace pando {

// For the page's head.
extern const std::string_view timeline_style;

// Canvas, tables, and the data and the script that fill them; once a page.
std::string timeline_view(const Profile& profile);

// The script alone; it reads the data from the element "timeline-data".
std::string timeline_script();

}  // namespace pando
