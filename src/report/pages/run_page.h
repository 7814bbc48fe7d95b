// SPDX-License-Identifier: Apache-2.0
// Sections of the page that report::save() writes, without their headings; empty if there is nothing to show.
#pragma once
#include <pando/report/report.h>

#include <string>
#include <vector>

namespace pando::report {

// What the classifier gets wrong: a matrix of counts, and images of the pairs that it confuses most. Throws Error,
// which names `report`, if the arrays do not match.
std::string mistakes_section(const Run& run);

// Memory of each device, as bars and as a table.
std::string memory_section(const std::vector<DeviceMemory>& devices);

}  // namespace pando::report
