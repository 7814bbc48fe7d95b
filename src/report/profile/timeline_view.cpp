#include "report/profile/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "report/pages/page.h"

namespace pando {

const std::string_view timeline_style = R"page(
:root { --kernel: #0072b2; --barrier: var(--grey); --feed: #e69f00; --forward: #56b4e9; --backward: #cc79a7;
  --exchange: #d55e00; --update: #009e73; }
#advice { padding: .7rem 1rem; background: var(--soft); border-left: 4px solid var(--kernel); }
.tools { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; margin-bottom: .4rem; }
.tools > span { display: flex; flex-wrap: wrap; gap: .2rem .8rem; font-size: .87rem; }
.tools i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
button { font: inherit; min-width: 2.2rem; padding: .15rem .6rem; color: var(--ink); background: var(--soft);
  border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
#rows { overflow-y: auto; max-height: 70vh; border: 1px solid var(--line); border-radius: 4px; }
#rows canvas { display: block; position: sticky; top: 0; width: 100%; cursor: grab; touch-action: pan-y; }
#rows canvas:focus-visible { outline-offset: -2px; }
#tip { position: fixed; display: none; pointer-events: none; z-index: 1; max-width: min(24rem, 90vw); padding: .4rem .6rem;
  background: var(--ink); color: var(--page); border-radius: 4px; font-size: .85rem; white-space: pre-line; }
#times td.bar { width: 40%; }
#times td.bar div { height: .8rem; min-width: 1px; border-radius: 2px; }
#live-bytes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
#live-bytes svg { display: block; width: 100%; height: 6rem; background: var(--soft);
  border-bottom: 1px solid var(--faint); }
#live-bytes path { fill: var(--kernel); fill-opacity: .75; }
#live-bytes .ends { display: flex; justify-content: space-between; }
@media (max-width: 36rem) { #times .count { display: none; } #times td.bar { width: 28%; } }
)page";

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
                     before_data, json_of_profile(profile), timeline_script());
}

}  // namespace pando
