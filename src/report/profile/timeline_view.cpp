// SPDX-License-Identifier: Apache-2.0
#include "report/profile/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "io/json_writer.h"
#include "report/pages/assets.h"
#include "report/pages/page.h"
#include "report/pictures/drawing.h"

namespace pando {

namespace {

constexpr std::string_view before_data = R"page(<p id="about" class="faint"></p>
<noscript><p>The timeline is drawn with JavaScript.</p></noscript>
<div class="tools"><div><button id="in" aria-label="zoom in">+</button> <button id="out" aria-label="zoom out">&minus;</button>
<button id="whole">whole</button></div><label>search <input id="search" type="search" placeholder="layer, op or wait"></label></div>
<div id="rows"><div><canvas tabindex="0" role="img" aria-label="timeline of the devices; arrow keys move, plus and minus zoom"></canvas></div></div>
<p id="in-view" class="faint"></p>
<ul id="legend" aria-label="shares of the time in view"></ul>
<p class="faint">Wheel or buttons: zoom. Drag: move. Point at an event for its name. Each tile has a row; the passes of a device are above its tiles. The shares are of the time of all tiles in view.</p>
<h2 id="layer-times">Time by layer</h2>
<table id="times"><thead><tr><th scope="col">layer</th><td></td><th scope="col" class="number">time</th><th scope="col" class="number">share</th><th scope="col" class="number count">events</th></tr></thead><tbody></tbody></table>
<p id="idle" class="faint"></p>
<section id="live-memory"><h2>Activations over the step</h2><p class="faint">What is alive in each superstep of the memory for activations. Values that are not needed any more make room for others.</p><div id="live-bytes"></div></section>
<div id="tip"></div>
<script type="application/json" id="timeline-data">)page";

constexpr JsonLayout layout = {.blanks = false, .in_script = true};

// Names are many fewer than events, so the page holds each once.
class Labels {
 public:
  std::size_t number_of(const ProfileEvent& event) {
    const auto [found, added] = numbers_.try_emplace({event.op, event.name}, numbers_.size());
    if (added) names_.push_back(found->first);
    return found->second;
  }
  void write(JsonWriter& json) const {
    json.begin_list();
    for (const auto& [op, name] : names_) {
      json.begin_list();
      json.value(plot::readable_text(op));
      json.value(plot::readable_text(name));
      json.end_list();
    }
    json.end_list();
  }

 private:
  using Name = std::pair<std::string, std::string>;
  std::map<Name, std::size_t> numbers_;
  std::vector<Name> names_;
};

std::int64_t nanoseconds(double microseconds) {
  return std::isfinite(microseconds) ? std::llround(1000 * microseconds) : 0;
}

void write_row(JsonWriter& json, const ProfileRow& row, Labels& labels) {
  json.begin_object();
  json.member("device", row.device);
  json.member("tile", row.tile);
  json.name("events");
  json.begin_list();
  std::int64_t before = 0;
  for (const ProfileEvent* event : row.events) {
    const std::int64_t begin = nanoseconds(event->begin);
    json.value(begin - before);
    json.value(nanoseconds(event->duration));
    json.value(static_cast<int>(event->kind));
    if (event->kind == ProfileEvent::Kind::kernel) json.value(labels.number_of(*event));
    else json.value(event->micro_batch);
    before = begin;
  }
  json.end_list();
  json.end_object();
}

void write_times(JsonWriter& json, const Profile& profile) {
  json.begin_list();
  for (const LayerTime& time : time_by_layer(profile)) {
    json.begin_list();
    json.value(static_cast<int>(time.kind));
    json.value(plot::readable_text(time.name));
    json.fixed(time.microseconds, 3);
    json.fixed(time.share, 6);
    json.value(time.events);
    json.end_list();
  }
  json.end_list();
}

void write_memory(JsonWriter& json, const Profile& profile) {
  json.begin_list();
  for (const DeviceMemory& memory : profile.memory) {
    json.begin_object();
    json.member("device", plot::readable_text(memory.device));
    json.name("bytes");
    json.begin_list();
    for (const std::size_t bytes : memory.live_bytes) json.value(bytes);
    json.end_list();
    json.end_object();
  }
  json.end_list();
}

void write_devices(JsonWriter& json, const Profile& profile, const std::vector<ProfileRow>& rows) {
  int last_device = static_cast<int>(profile.devices.size()) - 1;
  for (const ProfileRow& row : rows) last_device = std::max(last_device, row.device);
  json.begin_list();
  for (int device = 0; device <= last_device; ++device) json.value(plot::readable_text(device_name(profile, device)));
  json.end_list();
}

std::string json_of_profile(const Profile& profile) {
  const std::vector<ProfileRow> rows = rows_of(profile);
  // Rows come last in the text but first here: they number the labels.
  Labels labels;
  std::string text_of_rows;
  JsonWriter json_of_rows(text_of_rows, layout);
  json_of_rows.begin_list();
  for (const ProfileRow& row : rows) write_row(json_of_rows, row, labels);
  json_of_rows.end_list();

  std::string text;
  JsonWriter json(text, layout);
  json.begin_object();
  json.name("recorded");
  json.begin_list();
  for (const RecordedPart& part : profile.recorded) {
    json.begin_list();
    json.fixed(part.begin, 1);
    json.fixed(part.end, 1);
    json.end_list();
  }
  json.end_list();
  json.name("devices");
  write_devices(json, profile, rows);
  json.name("labels");
  labels.write(json);
  json.name("times");
  write_times(json, profile);
  json.name("memory");
  write_memory(json, profile);
  json.name("rows");
  json.json(text_of_rows);
  json.end_object();
  return text;
}

}  // namespace

std::string timeline_links() {
  return "<a href=\"#layer-times\">Time by layer</a>\n<a href=\"#live-memory\">Activations over the step</a>\n";
}

std::string timeline_view(const Profile& profile) {
  return fmt::format("<p id=\"advice\">{}</p>\n{}{}</script>\n<script>\n{}{}</script>\n", html_escaped(advice(profile)),
                     before_data, json_of_profile(profile), assets::timeline_js, assets::timeline_tables_js);
}

}  // namespace pando
