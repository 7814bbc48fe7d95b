#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "report/profile.h"

namespace pando {

namespace {

constexpr std::string_view page_head = R"page(<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pando profile</title>
<style>
:root { color-scheme: light dark; --page: #fff; --ink: #1c2126; --faint: #5d6770; --line: #d9dee3; --soft: #f3f5f7;
  --kernel: #0072b2; --barrier: #a3a8ad; --feed: #e69f00; --forward: #56b4e9; --backward: #cc79a7; --exchange: #d55e00;
  --update: #009e73; }
@media (prefers-color-scheme: dark) { :root { --page: #15181b; --ink: #e6e9ec; --faint: #9aa4ad; --line: #343b42;
  --soft: #1f2429; --barrier: #6b7278; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--page); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.6rem 0 .5rem; }
p { margin: .3rem 0; }
.faint { color: var(--faint); font-size: .87rem; }
#advice { padding: .7rem 1rem; background: var(--soft); border-left: 4px solid var(--kernel); overflow-wrap: anywhere; }
.tools { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; margin-bottom: .4rem; }
.tools > span { display: flex; flex-wrap: wrap; gap: .2rem .8rem; font-size: .87rem; }
.tools i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px; }
button { font: inherit; min-width: 2.2rem; padding: .15rem .6rem; color: var(--ink); background: var(--soft);
  border: 1px solid var(--line); border-radius: 4px; cursor: pointer; }
#rows { overflow-y: auto; max-height: 70vh; border: 1px solid var(--line); border-radius: 4px; }
canvas { display: block; position: sticky; top: 0; width: 100%; cursor: grab; touch-action: pan-y; }
canvas:focus-visible { outline: 2px solid var(--kernel); outline-offset: -2px; }
#tip { position: fixed; display: none; pointer-events: none; z-index: 1; max-width: min(24rem, 90vw); padding: .4rem .6rem;
  background: var(--ink); color: var(--page); border-radius: 4px; font-size: .85rem; white-space: pre-line;
  overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--faint); font-size: .87rem; }
th, td { padding: .25rem .5rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: middle; }
th.number, td.number { text-align: right; white-space: nowrap; }
td:first-child { overflow-wrap: anywhere; }
td.bar { width: 40%; }
td.bar div { height: .8rem; min-width: 1px; border-radius: 2px; }
#memory { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem; }
#memory svg { display: block; width: 100%; height: 6rem; background: var(--soft); border-bottom: 1px solid var(--faint); }
#memory path { fill: var(--kernel); fill-opacity: .75; }
#memory .ends { display: flex; justify-content: space-between; }
@media (max-width: 36rem) { .count { display: none; } td.bar { width: 28%; } }
</style>
<h1></h1>
<p id="advice"></p>
<p id="about" class="faint"></p>
<noscript>This page draws with JavaScript.</noscript>
<h2>Timeline</h2>
<div class="tools"><div><button id="in" aria-label="zoom in">+</button> <button id="out" aria-label="zoom out">&minus;</button>
<button id="whole">whole</button></div><span id="legend"></span></div>
<div id="rows"><div><canvas tabindex="0" aria-label="timeline of the devices; arrow keys move, plus and minus zoom"></canvas></div></div>
<p class="faint">Wheel or buttons: zoom. Drag: move. Point at an event for its name. Each tile has a row; the passes of a device are above its tiles.</p>
<h2>Time by layer</h2>
<table><thead><tr><th>layer<th><th class="number">time<th class="number">share<th class="number count">events</thead><tbody></tbody></table>
<p id="idle" class="faint"></p>
<section><h2>Memory over the step</h2><div id="memory"></div></section>
<div id="tip"></div>
<script type="application/json" id="data">)page";

constexpr std::string_view page_begin_script = R"page(</script>
<script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const kinds = ['kernel', 'barrier', 'feed', 'forward', 'backward', 'exchange', 'update'];
const find = name => document.querySelector(name);
const styles = getComputedStyle(document.documentElement);
const color = name => styles.getPropertyValue('--' + name).trim();
function add(parent, tag, text = '', type = '') {
  const element = parent.appendChild(document.createElement(tag));
  element.textContent = text;
  if (type) element.className = type;
  return element;
}
function timeText(microseconds, digits = 3) {
  const units = [[1e6, 's'], [1e3, 'ms'], [1, '\u00b5s'], [0, 'ns']];
  const [size, unit] = units.find(unit => Math.abs(microseconds) >= unit[0]);
  return microseconds === 0 ? '0' : +(microseconds / (size || 1e-3)).toPrecision(digits) + ' ' + unit;
}
function bytesText(bytes) {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return (bytes / 1024 ** power).toFixed(power ? 1 : 0) + ' ' + units[power];
}
const tip = find('#tip');
function showTip(text, event) {
  tip.textContent = text;
  tip.style.display = text ? 'block' : 'none';
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4);
  const below = event.clientY + 18, above = event.clientY - tip.offsetHeight - 8;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = (below + tip.offsetHeight > innerHeight ? above : below) + 'px';
}

// Beginnings are stored as differences, in nanoseconds; `reach` is where the events so far end, to search in.
for (const row of data.rows) {
  const count = row.events.length / 4;
  row.begin = new Float64Array(count); row.duration = new Float64Array(count); row.reach = new Float64Array(count);
  row.kind = new Uint8Array(count); row.number = new Int32Array(count);
  let begin = 0, reach = -Infinity;
  for (let i = 0; i < count; ++i) {
    begin += row.events[4 * i];
    row.begin[i] = begin / 1000;
    row.duration[i] = row.events[4 * i + 1] / 1000;
    row.kind[i] = row.events[4 * i + 2];
    row.number[i] = row.events[4 * i + 3];
    row.reach[i] = reach = Math.max(reach, row.begin[i] + row.duration[i]);
  }
  delete row.events;
}
let first = Infinity, last = -Infinity;
for (const row of data.rows) {
  if (!row.begin.length) continue;
  first = Math.min(first, row.begin[0]);
  last = Math.max(last, row.reach[row.reach.length - 1]);
}
if (!(last > first)) { first = 0; last = 1; }
)page";

constexpr std::string_view page_timeline = R"page(
const canvas = find('canvas'), pen = canvas.getContext('2d'), scroller = find('#rows');
const gutter = 58, axisHeight = 24, rowHeight = 24, titleHeight = 26;
const view = { begin: first, end: last };
let contentHeight = axisHeight;
data.rows.forEach((row, i) => {
  row.title = i === 0 || data.rows[i - 1].device !== row.device;
  if (row.title) contentHeight += titleHeight;
  row.top = contentHeight;
  contentHeight += rowHeight;
});
contentHeight += 6;
let width = 0, height = 0, asked = false;
const placeOf = time => gutter + (time - view.begin) / (view.end - view.begin) * (width - gutter);
const timeAt = x => view.begin + (x - gutter) / (width - gutter) * (view.end - view.begin);
function redraw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; draw(); });
}
function resize() {
  width = scroller.clientWidth;
  height = Math.min(contentHeight, Math.max(200, innerHeight * .7 - 2));
  canvas.parentNode.style.height = contentHeight + 'px';
  canvas.style.height = height + 'px';
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  draw();
}
function firstEvent(row, time) {
  let low = 0, high = row.reach.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.reach[middle] <= time) low = middle + 1; else high = middle;
  }
  return low;
}
function shortName(row, i) {
  const kind = kinds[row.kind[i]];
  if (kind === 'kernel') return data.labels[row.number[i]][1] || data.labels[row.number[i]][0];
  const number = row.number[i] < 0 ? '' : row.number[i];
  return placeOf(row.begin[i] + row.duration[i]) - placeOf(row.begin[i]) < 75 ? kind[0].toUpperCase() + number
                                                                             : kind + ' ' + number;
}
function drawBox(row, i, colors, y) {
  const left = Math.max(gutter, placeOf(row.begin[i]));
  const right = Math.min(width, placeOf(row.begin[i] + row.duration[i]));
  pen.fillStyle = colors[row.kind[i]];
  pen.fillRect(left, y + 2, Math.max(1, right - left - (right - left > 4 ? 1 : 0)), rowHeight - 4);
  const name = right - left < 18 ? '' : shortName(row, i);
  if (!name || (right - left < 44 && pen.measureText(name).width > right - left - 6)) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, y, right - left - 2, rowHeight);
  pen.clip();
  pen.fillStyle = kinds[row.kind[i]] === 'kernel' ? '#fff' : '#111';
  pen.fillText(name, left + 4, y + rowHeight / 2);
  pen.restore();
}
// Events thinner than a pixel share a column, in the colour of the kind that took most of it, pale where much is idle.
function drawRow(row, colors, y) {
  const thin = (view.end - view.begin) / (width - gutter), times = new Float64Array(kinds.length);
  let column = -1;
  const flush = () => {
    if (column < 0) return;
    pen.fillStyle = colors[times.indexOf(Math.max(...times))];
    pen.globalAlpha = Math.max(.25, Math.min(1, times.reduce((a, b) => a + b) / thin));
    pen.fillRect(column, y + 2, 1, rowHeight - 4);
    pen.globalAlpha = 1;
    times.fill(0);
    column = -1;
  };
  for (let i = firstEvent(row, view.begin); i < row.begin.length && row.begin[i] < view.end; ++i) {
    const x = Math.floor(placeOf(row.begin[i]));
    if (x !== column) flush();
    if (row.duration[i] >= thin) { drawBox(row, i, colors, y); continue; }
    if (x < gutter) continue;
    column = x;
    times[row.kind[i]] += row.duration[i] + 1e-6;
  }
  flush();
}
function drawAxis() {
  pen.fillStyle = color('page');
  pen.fillRect(0, 0, width, axisHeight);
  const rough = (view.end - view.begin) / Math.max(2, (width - gutter) / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
  const digits = Math.max(3, Math.ceil(Math.log10(Math.max(1, view.end / step))) + 1);
  for (let i = Math.ceil((view.begin - first) / step); i * step <= view.end - first; ++i) {
    const x = placeOf(first + i * step);
    pen.fillStyle = color('line');
    pen.fillRect(x, axisHeight - 6, 1, height);
    pen.fillStyle = color('faint');
    const text = timeText(i * step, digits);
    if (x + pen.measureText(text).width + 4 < width) pen.fillText(text, x + 3, axisHeight / 2 - 2);
  }
}
function draw() {
  const colors = kinds.map(color), top = scroller.scrollTop;
  pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '12px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  drawAxis();
  pen.save();
  pen.beginPath();
  pen.rect(0, axisHeight, width, height);
  pen.clip();
  for (const row of data.rows) {
    const y = row.top - top;
    if (y > height || y + rowHeight < 0) continue;
    if (row.title) {
      pen.fillStyle = color('soft');
      pen.fillRect(0, y - titleHeight + 3, width, titleHeight - 4);
      pen.fillStyle = color('ink');
      pen.fillText(data.devices[row.device], 6, y - titleHeight / 2 + 1);
    }
    pen.fillStyle = color('faint');
    pen.fillText(row.tile < 0 ? 'passes' : 'tile ' + row.tile, 6, y + rowHeight / 2);
    drawRow(row, colors, y);
  }
  pen.restore();
}
)page";

constexpr std::string_view page_moves = R"page(
function show(begin, length) {
  length = Math.min(last - first, Math.max(.01, length));
  begin = Math.min(last - length, Math.max(first, begin));
  if (begin === view.begin && begin + length === view.end) return false;
  view.begin = begin;
  view.end = begin + length;
  redraw();
  return true;
}
function zoom(factor, x = (gutter + width) / 2) {
  const time = timeAt(Math.max(gutter, x));
  return show(time - (time - view.begin) * factor, (view.end - view.begin) * factor);
}
const move = part => show(view.begin + part * (view.end - view.begin), view.end - view.begin);
find('#in').onclick = () => zoom(1 / 2);
find('#out').onclick = () => zoom(2);
find('#whole').onclick = () => show(first, last - first);
// Where there is nothing left to zoom out of, the page scrolls.
canvas.addEventListener('wheel', event => {
  const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const moved = sideways ? move((event.deltaX || event.deltaY) / 800)
                         : zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 300), event.offsetX);
  if (moved) event.preventDefault();
}, { passive: false });
canvas.addEventListener('keydown', event => {
  const keys = { ArrowLeft: () => move(-.2), ArrowRight: () => move(.2), '+': () => zoom(1 / 2), '-': () => zoom(2) };
  if (event.key in keys && keys[event.key]()) event.preventDefault();
});
function eventAt(x, y) {
  const row = data.rows.find(row => y + scroller.scrollTop >= row.top && y + scroller.scrollTop < row.top + rowHeight);
  if (!row || x < gutter || y < axisHeight) return '';
  const near = 1.5 * (view.end - view.begin) / (width - gutter), time = timeAt(x);
  let i = firstEvent(row, time - near);
  for (let next = i; next < row.begin.length && row.begin[next] <= time; ++next)
    if (row.begin[next] + row.duration[next] > time) i = next;
  if (i >= row.begin.length || row.begin[i] > time + near) return '';
  const kind = kinds[row.kind[i]], lines = [];
  if (kind === 'kernel') {
    const [op, layer] = data.labels[row.number[i]];
    lines.push(op + ' (kernel)', 'layer ' + (layer || 'none'));
  } else lines.push(kind);
  if (kind !== 'kernel' && row.number[i] >= 0) lines.push('micro-batch ' + row.number[i]);
  lines.push(timeText(row.duration[i], 4) + ', from ' + timeText(row.begin[i] - first, 6));
  return lines.join('\n');
}
let held = null;
canvas.onpointerdown = event => {
  held = { x: event.clientX, y: event.clientY, begin: view.begin, top: scroller.scrollTop };
  canvas.setPointerCapture(event.pointerId);
};
canvas.onpointerup = canvas.onpointercancel = () => { held = null; };
canvas.onpointerleave = event => showTip('', event);
canvas.onpointermove = event => {
  if (!held) return showTip(eventAt(event.offsetX, event.offsetY), event);
  showTip('', event);
  show(held.begin - (event.clientX - held.x) / (width - gutter) * (view.end - view.begin), view.end - view.begin);
  if (event.pointerType === 'mouse') scroller.scrollTop = held.top - (event.clientY - held.y);
};
canvas.onclick = event => showTip(eventAt(event.offsetX, event.offsetY), event);
scroller.onscroll = redraw;
addEventListener('resize', resize);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
)page";

constexpr std::string_view page_tables = R"page(
function fillHead() {
  document.title = 'Profile of ' + data.model;
  find('h1').textContent = document.title;
  find('#advice').textContent = data.advice;
  const count = data.rows.reduce((sum, row) => sum + row.begin.length, 0);
  find('#about').textContent = data.devices.length + (data.devices.length === 1 ? ' device, ' : ' devices, ') +
    count.toLocaleString('en') + ' events in ' + timeText(count ? last - first : 0) + '.' +
    (data.complete ? '' : ' The recording was full before the end: what came later is missing.');
  const seen = new Set(data.rows.flatMap(row => [...new Set(row.kind)]));
  kinds.forEach((kind, i) => {
    if (!seen.has(i)) return;
    const entry = add(find('#legend'), 'span');
    add(entry, 'i').style.background = `var(--${kind})`;
    entry.append(kind);
  });
}
function fillTable() {
  const body = find('tbody'), most = Math.max(...data.times.map(time => time[3]));
  for (const [kind, name, microseconds, share, events] of data.times) {
    const row = add(body, 'tr');
    add(row, 'td', kind === 0 ? name : name + ' (waits)');
    const bar = add(add(row, 'td', '', 'bar'), 'div');
    bar.style.width = 100 * share / most + '%';
    bar.style.background = `var(--${kinds[kind]})`;
    add(row, 'td', timeText(microseconds), 'number');
    add(row, 'td', (100 * share).toFixed(1) + ' %', 'number');
    add(row, 'td', events.toLocaleString('en'), 'number count');
  }
  const idle = 1 - data.times.reduce((sum, time) => sum + time[3], 0);
  find('#idle').textContent = 'Summed over all tiles; a layer holds its gradient.' +
    (idle > .0005 ? ` The rest, ${(100 * idle).toFixed(1)} %, is idle.` : '');
}
function fillMemory() {
  const charts = data.memory.filter(device => device.bytes.length);
  if (!charts.length) find('section').remove();
  const most = Math.max(1, ...charts.map(device => device.bytes.reduce((a, b) => Math.max(a, b), 0)));
  for (const { device, bytes } of charts) {
    const chart = add(find('#memory'), 'div'), peak = bytes.indexOf(bytes.reduce((a, b) => Math.max(a, b)));
    add(chart, 'div', device);
    add(chart, 'div', `at most ${bytesText(bytes[peak])}, in superstep ${peak}`, 'faint');
    const steps = bytes.map((value, i) => `V${100 - 95 * value / most}H${i + 1}`).join('');
    chart.insertAdjacentHTML('beforeend', `<svg viewBox="0 0 ${bytes.length} 100" preserveAspectRatio="none">` +
      `<path d="M0 100${steps}V100Z"/></svg>`);
    const picture = chart.lastChild, ends = add(chart, 'div', '', 'faint ends');
    add(ends, 'span', 'superstep 0');
    if (bytes.length > 1) add(ends, 'span', String(bytes.length - 1));
    picture.onpointermove = event => {
      const box = picture.getBoundingClientRect(), part = (event.clientX - box.left) / box.width;
      const i = Math.max(0, Math.min(bytes.length - 1, Math.floor(part * bytes.length)));
      showTip(`superstep ${i}\n${bytesText(bytes[i])}`, event);
    };
    picture.onpointerleave = event => showTip('', event);
  }
}
fillHead();
fillTable();
fillMemory();
resize();
</script>
</html>
)page";

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
  return fmt::format(
      R"({{"model":{},"complete":{},"advice":{},"devices":{},"labels":{},"times":{},"memory":{},"rows":{}}})",
      json_text(profile.model), profile.complete, json_text(advice(profile)), devices.text(), labels.text(),
      json_of_times(profile), json_of_memory(profile), rows.text());
}

}  // namespace

std::string profile_page(const Profile& profile) {
  std::string page(page_head);
  page += json_of_profile(profile);
  for (const std::string_view part : {page_begin_script, page_timeline, page_moves, page_tables}) page += part;
  return page;
}

}  // namespace pando
