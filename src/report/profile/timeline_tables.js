// The numbers below the timeline: totals of what is in view, time by layer, memory. Follows timeline.js in its script.
// The time of the tiles in view that was recorded, and what took it.
function showTotals() {
  const tiles = data.rows.filter(row => row.tile >= 0), times = new Float64Array(tones.length);
  let events = 0, found = 0, foundTime = 0, longest = 0;
  for (const row of tiles)
    for (let i = firstEvent(row, view.begin); i < row.begin.length && row.begin[i] < view.end; ++i) {
      const time = Math.min(view.end, row.begin[i] + row.duration[i]) - Math.max(view.begin, row.begin[i]);
      ++events;
      times[row.tone[i]] += time;
      if (!isWanted(row, i)) continue;
      ++found;
      foundTime += time;
      longest = Math.max(longest, row.duration[i]);
    }
  let recorded = data.recorded.length ? 0 : view.end - view.begin;
  for (const [begin, end] of data.recorded) recorded += Math.max(0, Math.min(end, view.end) - Math.max(begin, view.begin));
  const whole = recorded * tiles.length, share = time => (whole > 0 ? 100 * time / whole : 0).toFixed(1) + ' %';
  find('#in-view').textContent = `From ${timeText(view.begin - first, 4)} to ${timeText(view.end - first, 4)}: ` +
    (wanted ? `${found.toLocaleString('en')} of ${events.toLocaleString('en')} events match, ${share(foundTime)} of the time` +
              (found ? `, ${timeText(foundTime / found)} each, at most ${timeText(longest)}.` : '.')
            : `${events.toLocaleString('en')} events.`);
  const shown = [...tones.keys()].filter(tone => times[tone] > 0).sort((a, b) => times[b] - times[a]);
  find('#legend').replaceChildren();
  for (const tone of shown) legendEntry(tones[tone], share(times[tone]));
  const idle = whole - times.reduce((a, b) => a + b, 0);
  if (idle > whole / 2000) legendEntry({ name: 'idle', color: 'soft' }, share(idle));
}
function legendEntry(tone, share) {
  const entry = add(find('#legend'), 'li');
  add(entry, 'i').style.background = `var(--${tone.color})`;
  entry.append(tone.name + ' ');
  add(entry, 'b', share);
}

function fillLegend() {
  const count = data.rows.reduce((sum, row) => sum + row.begin.length, 0);
  find('#about').textContent = data.devices.length + (data.devices.length === 1 ? ' device, ' : ' devices, ') +
    count.toLocaleString('en') + ' events in ' + timeText(count ? last - first : 0) + '.' +
    (data.recorded.length ? ` The run is long, so ${data.recorded.length} parts of it were recorded, ` +
      timeText(data.recorded.reduce((sum, part) => sum + part[1] - part[0], 0)) + ' together; what is hatched was not.' : '');
}
function fillTable() {
  const body = find('#times tbody'), most = Math.max(...data.times.map(time => time[3]));
  for (const [kind, name, , share, events] of data.times) {
    const row = add(body, 'tr');
    add(row, 'td', kind === 0 ? name : name + ' (waits)');
    const bar = add(add(row, 'td', '', 'bar'), 'div');
    bar.style.width = 100 * share / most + '%';
    bar.style.background = `var(--${kind === 0 ? 'blue' : kinds[kind]})`;
    add(row, 'td', timeText(share * (last - first)), 'number');
    add(row, 'td', (100 * share).toFixed(1) + ' %', 'number');
    add(row, 'td', events.toLocaleString('en'), 'number count');
  }
  const idle = 1 - data.times.reduce((sum, time) => sum + time[3], 0);
  find('#idle').textContent = 'Means of all tiles; a layer includes its gradient.' +
    (idle > .0005 ? ` The rest, ${(100 * idle).toFixed(1)} %, is idle.` : '');
}
function fillMemory() {
  const charts = data.memory.filter(device => device.bytes.length);
  if (!charts.length) document.querySelectorAll('#live-memory, [href="#live-memory"]').forEach(gone => gone.remove());
  const most = Math.max(1, ...charts.map(device => device.bytes.reduce((a, b) => Math.max(a, b), 0)));
  for (const { device, bytes } of charts) {
    const chart = add(find('#live-bytes'), 'div'), peak = bytes.indexOf(bytes.reduce((a, b) => Math.max(a, b)));
    add(chart, 'div', device);
    add(chart, 'div', `at most ${bytesText(bytes[peak])}, in superstep ${peak}`, 'faint');
    const steps = bytes.map((value, i) => `V${100 - 100 * value / most}H${i + 1}`).join('');
    const plot = add(chart, 'div', '', 'plot'), axis = add(plot, 'div', '', 'faint axis');
    for (const part of [1, .5, 0]) add(axis, 'span', bytesText(most * part));
    plot.insertAdjacentHTML('beforeend', `<svg viewBox="0 0 ${bytes.length} 100" preserveAspectRatio="none" aria-hidden="true">` +
      `<path d="M0 100${steps}V100Z"/></svg>`);
    const picture = plot.lastChild, ends = add(chart, 'div', '', 'faint ends');
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
fillLegend();
fillTable();
fillMemory();
resize();
