#include "report/profile/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "report/pages/assets.h"
#include "report/pages/page.h"

namespace pando {

namespace {

constexpr std::string_view before_data = R"page(<p id="about" class="faint"></p>
<noscript><p>The timeline is drawn with JavaScript.</p></noscript>
<div class="tools"><div><button id="in" aria-label="zoom in">+</button> <button id="out" aria-label="zoom out">&minus;</button>
<button id="whole">whole</button></div><span id="legend"></span></div>
<div id="rows"><div><canvas tabindex="0" role="img" aria-label="timeline of the devices; arrow keys move, plus and minus zoom"></canvas></div></div>
<p class="faint">Wheel or buttons: zoom. Drag: move. Point at an event for its name. Each tile has a row; the passes of a device are above its tiles.</p>
<h2>Time by layer</h2>
<table id="times"><thead><tr><th scope="col">layer</th><td></td><th scope="col" class="number">time</th><th scope="col" class="number">share</th><th scope="col" class="number count">events</th></tr></thead><tbody></tbody></table>
<p id="idle" class="faint"></p>
<section id="live-memory"><h2>Memory over the step</h2><div id="live-bytes"></div></section>
<div id="tip"></div>
<script type="application/json" id="timeline-data">)page";

class JsonList {
 public:
  template <class Value>
  void add(const Value& value) {
    if (!first_) text_ += ',';
    first_ = false;
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
  std::string text() const { return "[" + text_ + "]"; }

 private:
  std::string text_ = {};
  bool first_ = true;
};

// Names are many fewer than events, so the page holds each once.
class Labels {
 public:
  std::size_t number_of(const ProfileEvent& event) {
    const auto [found, added] = numbers_.try_emplace({event.op, event.layer}, numbers_.size());
    if (added) list_.add(fmt::format("[{},{}]", json_text(event.op), json_text(event.layer)));
    return found->second;
  }
  std::string text() const { return list_.text(); }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> numbers_;
  JsonList list_;
};

std::int64_t nanoseconds(double microseconds) {
  return std::isfinite(microseconds) ? std::llround(1000 * microseconds) : 0;
}

std::string json_of_row(const ProfileRow& row, Labels& labels) {
  JsonList events;
  std::int64_t before = 0;
  for (const ProfileEvent* event : row.events) {
    const std::int64_t begin = nanoseconds(event->begin);
    events.add(begin - before);
    events.add(nanoseconds(event->duration));
    events.add(static_cast<int>(event->kind));
    if (event->kind == ProfileEvent::Kind::kernel) events.add(labels.number_of(*event));
    else events.add(event->micro_batch);
    before = begin;
  }
  return fmt::format(R"({{"device":{},"tile":{},"events":{}}})", row.device, row.tile, events.text());
}

std::string json_of_times(const Profile& profile) {
  JsonList times;
  for (const LayerTime& time : time_by_layer(profile))
    times.add(fmt::format("[{},{},{:.3f},{:.6f},{}]", static_cast<int>(time.kind), json_text(time.name),
                          time.microseconds, time.share, time.events));
  return times.text();
}

std::string json_of_memory(const Profile& profile) {
  JsonList devices;
  for (const DeviceMemory& memory : profile.memory) {
    JsonList bytes;
    for (const std::size_t value : memory.live_bytes) bytes.add(value);
    devices.add(fmt::format(R"({{"device":{},"bytes":{}}})", json_text(memory.device), bytes.text()));
  }
  return devices.text();
}

std::string json_of_profile(const Profile& profile) {
  JsonList devices, rows;
  Labels labels;
  int last_device = static_cast<int>(profile.devices.size()) - 1;
  for (const ProfileRow& row : rows_of(profile)) {
    rows.add(json_of_row(row, labels));
    last_device = std::max(last_device, row.device);
  }
  for (int device = 0; device <= last_device; ++device) devices.add(json_text(device_name(profile, device)));
  return fmt::format(R"({{"complete":{},"devices":{},"labels":{},"times":{},"memory":{},"rows":{}}})", profile.complete,
                     devices.text(), labels.text(), json_of_times(profile), json_of_memory(profile), rows.text());
}

}  // namespace

std::string timeline_view(const Profile& profile) {
  return fmt::format("<p id=\"advice\">{}</p>\n{}{}</script>\n<script>\n{}</script>\n", html_escaped(advice(profile)),
                     before_data, json_of_profile(profile), assets::timeline_js);
}

}  // namespace pando
