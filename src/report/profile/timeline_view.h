// SPDX-License-Identifier: Apache-2.0
// The timeline of a profile inside a page: every event on a canvas, time by layer, memory over the step.
#pragma once
#include <string>

#include "report/profile/profile.h"

namespace pando {

// Canvas, tables, and the data and the script that fill them; once per page. The page's style must contain
// timeline.css.
std::string timeline_view(const Profile& profile);

// Links to the parts of the view that have headings.
std::string timeline_links();

}  // namespace pando
