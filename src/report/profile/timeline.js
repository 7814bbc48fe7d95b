'use strict';
const data = JSON.parse(document.getElementById('timeline-data').textContent);
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
// Tones are what has a colour of its own: the kinds of events, and the ops that take most of the time.
const opTones = 8, opTimes = new Map();
for (const row of data.rows)
  row.kind.forEach((kind, i) => {
    if (kinds[kind] !== 'kernel') return;
    const op = data.labels[row.number[i]][0];
    opTimes.set(op, (opTimes.get(op) || 0) + row.duration[i]);
  });
const ops = [...opTimes.keys()].sort((a, b) => opTimes.get(b) - opTimes.get(a)).slice(0, opTones);
const tones = [...kinds.map(kind => ({ name: kind, color: kind })), ...ops.map((op, i) => ({ name: op, color: 'op-' + i }))];
tones[0].name = 'other kernels';
const toneOfLabel = data.labels.map(([op]) => ops.includes(op) ? kinds.length + ops.indexOf(op) : 0);
for (const row of data.rows)
  row.tone = row.kind.map((kind, i) => kinds[kind] === 'kernel' ? toneOfLabel[row.number[i]] : kind);
let first = Infinity, last = -Infinity;
for (const row of data.rows) {
  if (!row.begin.length) continue;
  first = Math.min(first, row.begin[0]);
  last = Math.max(last, row.reach[row.reach.length - 1]);
}
if (!(last > first)) { first = 0; last = 1; }

const canvas = find('#rows canvas'), pen = canvas.getContext('2d'), scroller = find('#rows');
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
// What the search asks for; null if it is empty.
let wanted = null;
function search(text) {
  const word = text.trim().toLowerCase();
  wanted = !word ? null : { labels: data.labels.map(names => names.some(name => name.toLowerCase().includes(word))),
                            kinds: kinds.map(kind => kind.includes(word)) };
  redraw();
}
const isWanted = (row, i) =>
  !wanted || (kinds[row.kind[i]] === 'kernel' ? wanted.labels[row.number[i]] : wanted.kinds[row.kind[i]]);
function drawBox(row, i, colors, y) {
  const left = Math.max(gutter, placeOf(row.begin[i]));
  const right = Math.min(width, placeOf(row.begin[i] + row.duration[i]));
  pen.fillStyle = colors[row.tone[i]];
  pen.globalAlpha = isWanted(row, i) ? 1 : .15;
  pen.fillRect(left, y + 2, Math.max(1, right - left - (right - left > 4 ? 1 : 0)), rowHeight - 4);
  pen.globalAlpha = 1;
  const name = right - left < 18 ? '' : shortName(row, i);
  if (!name || (right - left < 44 && pen.measureText(name).width > right - left - 6)) return;
  pen.save();
  pen.beginPath();
  pen.rect(left, y, right - left - 2, rowHeight);
  pen.clip();
  pen.fillStyle = !isWanted(row, i) ? color('faint') : darkTones.has(tones[row.tone[i]].color) ? '#fff' : '#111';
  pen.fillText(name, left + 4, y + rowHeight / 2);
  pen.restore();
}
// Events thinner than a pixel share a column, in the tone that took most of it, pale where much is idle.
const darkTones = new Set(['kernel', 'exchange', 'update', 'op-0', 'op-2', 'op-5', 'op-7']);
function drawRow(row, colors, y) {
  const thin = (view.end - view.begin) / (width - gutter), times = new Float64Array(tones.length);
  let column = -1;
  const flush = () => {
    if (column < 0) return;
    pen.fillStyle = colors[times.indexOf(Math.max(...times))];
    const part = times.reduce((a, b) => a + b) / thin;
    pen.globalAlpha = part > 0 ? Math.max(.25, Math.min(1, part)) : 0;
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
    if (isWanted(row, i)) times[row.tone[i]] += row.duration[i] + 1e-6;
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
// What was not recorded is hatched, so that it does not look idle.
function drawGaps(y) {
  let end = first;
  for (const part of [...data.recorded, [last, last]]) {
    const left = Math.max(gutter, placeOf(end)), right = Math.min(width, placeOf(part[0]));
    end = part[1];
    if (!data.recorded.length || right - left < 1) continue;
    pen.save();
    pen.beginPath();
    pen.rect(left, y + 2, right - left, rowHeight - 4);
    pen.clip();
    pen.strokeStyle = color('line');
    pen.beginPath();
    for (let x = left - rowHeight - (left % 8); x < right; x += 8) {
      pen.moveTo(x, y + rowHeight);
      pen.lineTo(x + rowHeight, y);
    }
    pen.stroke();
    pen.restore();
  }
}
function draw() {
  const colors = tones.map(tone => color(tone.color)), top = scroller.scrollTop;
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
    drawGaps(y);
    drawRow(row, colors, y);
  }
  pen.restore();
  showTotals();
}

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
find('#search').oninput = event => search(event.target.value);
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
