// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/pages/page.h"
#include "report/pages/run_page.h"

namespace pando::report {

namespace {

const char* color_of(std::size_t part) {
  static constexpr std::array<const char*, 6> colors = {"blue", "green", "yellow", "sky", "pink", "orange"};
  return colors[part % colors.size()];
}

// The names of all parts, in the order in which they are first seen.
std::vector<std::string> part_names(const std::vector<DeviceMemory>& devices) {
  std::vector<std::string> names;
  for (const DeviceMemory& device : devices)
    for (const MemoryPart& part : device.parts)
      if (std::find(names.begin(), names.end(), part.name) == names.end()) names.push_back(part.name);
  return names;
}

std::uint64_t bytes_of(const DeviceMemory& device, const std::string& name) {
  std::uint64_t bytes = 0;
  for (const MemoryPart& part : device.parts)
    if (part.name == name) bytes += part.bytes;
  return bytes;
}

std::uint64_t total_of(const DeviceMemory& device) {
  std::uint64_t bytes = 0;
  for (const MemoryPart& part : device.parts) bytes += part.bytes;
  return bytes;
}

// What the parts are for, each named once.
std::string meanings(const std::vector<DeviceMemory>& devices, const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    std::string meaning;
    for (const DeviceMemory& device : devices)
      for (const MemoryPart& part : device.parts)
        if (part.name == name && meaning.empty()) meaning = part.meaning;
    if (!meaning.empty())
      text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(name), html_escaped(meaning));
  }
  return text.empty() ? "" : "<div class=\"facts meanings\"><dl>\n" + text + "</dl></div>\n";
}

// `most` is the memory that takes the whole width.
std::string bars(const DeviceMemory& device, const std::vector<std::string>& names, std::uint64_t most) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("<i style=\"width: {:.2f}%; background: var(--{})\"></i>",
                        100 * static_cast<double>(bytes_of(device, names[i])) / static_cast<double>(most), color_of(i));
  return "<td class=\"bars\" aria-hidden=\"true\"><div>" + text + "</div></td>";
}

}  // namespace

std::string memory_section(const std::vector<DeviceMemory>& devices) {
  if (devices.empty()) return "";
  const std::vector<std::string> names = part_names(devices);
  std::uint64_t most = 1;
  for (const DeviceMemory& device : devices) most = std::max(most, total_of(device));
  std::string table =
      "<table class=\"memory\">\n<thead><tr><th scope=\"col\">device</th><td aria-hidden=\"true\"></td>";
  for (std::size_t i = 0; i < names.size(); ++i)
    table += fmt::format("<th scope=\"col\" class=\"number\"><i style=\"background: var(--{})\"></i>{}</th>",
                         color_of(i), html_escaped(names[i]));
  table += "<th scope=\"col\" class=\"number\">total</th></tr></thead>\n<tbody>\n";
  for (const DeviceMemory& device : devices) {
    table += fmt::format("<tr><th scope=\"row\">{}</th>{}", html_escaped(device.device), bars(device, names, most));
    for (const std::string& name : names)
      table += fmt::format("<td class=\"number\">{}</td>", bytes_text(bytes_of(device, name)));
    table += fmt::format("<td class=\"number\">{}</td></tr>\n", bytes_text(total_of(device)));
  }
  return scroll_box("Memory by device", table + "</tbody>\n</table>\n") + meanings(devices, names);
}

}  // namespace pando::report
