'use strict';
// The values of a chart under the pointer, or where the arrow keys are.
(() => {
  const tip = document.getElementById('chart-tip');
  for (const chart of document.querySelectorAll('.charts > [data-values]')) {
    const data = JSON.parse(chart.dataset.values), svg = chart.querySelector('svg');
    const [, top, , bottom] = data.frame;
    const marks = svg.appendChild(document.createElementNS(svg.namespaceURI, 'g'));
    let shown = -1;
    const mark = (tag, attributes) => {
      const element = marks.appendChild(document.createElementNS(svg.namespaceURI, tag));
      for (const name in attributes) element.setAttribute(name, attributes[name]);
    };
    const hide = () => {
      shown = -1;
      marks.replaceChildren();
      tip.style.display = 'none';
    };
    const show = i => {
      if (!data.at.length) return;
      hide();
      shown = Math.max(0, Math.min(data.at.length - 1, i));
      mark('line', { x1: data.x[shown], x2: data.x[shown], y1: top, y2: bottom, class: 'rule' });
      const lines = [data.unit + ' ' + data.at[shown].toLocaleString('en')];
      for (const [name, places, values] of data.series) {
        if (shown >= values.length) continue;
        lines.push(name + ' ' + values[shown]);
        if (places[shown] !== null) mark('circle', { cx: data.x[shown], cy: places[shown], r: 4, class: 'value' });
      }
      tip.textContent = lines.join('\n');
      tip.style.display = 'block';
      const box = svg.getBoundingClientRect(), size = svg.viewBox.baseVal;
      const x = box.left + data.x[shown] / size.width * box.width;
      const left = x + 14 + tip.offsetWidth > innerWidth ? x - 14 - tip.offsetWidth : x + 14;
      tip.style.left = Math.max(4, left) + 'px';
      tip.style.top = box.top + top / size.height * box.height + 'px';
    };
    const nearest = x => {
      let low = 0, high = data.x.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (data.x[middle] <= x) low = middle; else high = middle;
      }
      return x - data.x[low] < data.x[high] - x ? low : high;
    };
    const follow = event => {
      const box = svg.getBoundingClientRect();
      show(nearest((event.clientX - box.left) / box.width * svg.viewBox.baseVal.width));
    };
    chart.addEventListener('pointermove', follow);
    chart.addEventListener('pointerdown', follow);
    chart.addEventListener('pointerleave', hide);
    chart.addEventListener('blur', hide);
    chart.addEventListener('keydown', event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      show(shown < 0 ? 0 : shown + step);
      event.preventDefault();
    });
  }
  addEventListener('scroll', () => { tip.style.display = 'none'; }, { passive: true });
})();
