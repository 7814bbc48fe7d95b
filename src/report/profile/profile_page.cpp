// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/pages/assets.h"
#include "report/pages/page.h"
#include "report/profile/timeline_view.h"

namespace pando {

std::string profile_page(const Profile& profile) {
  const std::string title = profile.model.empty() ? "Profile" : "Profile of " + profile.model;
  return html_page(title, assets::timeline_css,
                   fmt::format("<h1>{}</h1>\n{}", html_escaped(title), timeline_view(profile)));
}

}  // namespace pando
