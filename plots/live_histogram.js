// The figure of the report's opening: gradients by exponent, and a loss scale to drag. What each format makes of them is
// counted by binade: #gradients holds [[exponent, share], ...] and formats as [name, lowest, normal, highest].
'use strict';
{
  const {shares, formats} = JSON.parse(document.getElementById('gradients').textContent);
  const place = document.getElementById('live');
  const [slider, choice, table, sentence] = ['live-scale', 'live-format', 'live-table', 'live-sentence']
      .map(id => document.getElementById(id));
  const first = -44, last = 20, left = 30, bottom = 190, width = 700;
  const x = exponent => left + (width - left) * (exponent - first) / (last + 1 - first);
  const sum = shares.reduce((total, [, share]) => total + share, 0);

  // A number below half of the smallest subnormal number becomes zero, one in the binade above that is rounded up.
  const fate = (exponent, [, lowest, normal, highest]) =>
      exponent < lowest - 1 ? 'zero' : exponent < normal ? 'subnormal' : exponent > highest ? 'infinite' : 'normal';
  const percent = share => share === 0 ? '0' : share < .001 ? '< 0.1 %' : (100 * share).toFixed(1) + ' %';

  const draw = (tag, attributes, text = '') => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };

  const show = () => {
    const scale = Number(slider.value), format = formats.find(row => row[0] === choice.value);
    const most = Math.max(...shares.map(row => row[1]));
    const shapes = [];
    for (const [exponent, share] of shares) {
      const height = 150 * share / most, at = exponent + scale;
      if (at < first || at > last) continue;
      shapes.push(draw('rect', {class: fate(at, format), x: x(at), width: x(1) - x(0) - 1, y: bottom - height, height}));
    }
    shapes.push(draw('line', {class: 'axis', x1: left, x2: width, y1: bottom, y2: bottom}));
    for (let e = -40; e <= last; e += 10) {
      const label = draw('text', {x: x(e) + 4, y: bottom, dy: '1.2em', 'text-anchor': 'middle'}, '2');
      label.append(draw('tspan', {dy: '-.35em', 'font-size': '80%'}, String(e)));
      shapes.push(label);
    }
    // Names stand above the edges: on a phone one may be longer than its part of the axis.
    for (const [edge, name, at, anchor] of [[format[1] - 1, 'zero', x(format[1] - 1) - 4, 'end'],
                                            [format[2], 'subnormal', x(format[1] - 1) + 4, 'start'],
                                            [format[3] + 1, 'infinite', 716, 'end']]) {
      if (edge < first || edge > last || (name === 'subnormal' && format[2] - format[1] < 4)) continue;
      shapes.push(draw('line', {class: 'edge', x1: x(edge), x2: x(edge), y1: 32, y2: bottom}));
      shapes.push(draw('text', {x: at, y: 24, 'text-anchor': anchor}, name));
    }
    place.replaceChildren(...shapes);
    const counted = formats.map(row => {
      const part = {zero: 0, subnormal: 0, infinite: 0};
      for (const [exponent, share] of shares) {
        const what = fate(exponent + scale, row);
        if (what in part) part[what] += share / sum;
      }
      return [row[0], part];
    });
    table.replaceChildren(...counted.map(([name, part]) => {
      const row = document.createElement('tr'), head = document.createElement('th');
      head.textContent = name;
      row.className = name === choice.value ? 'chosen' : '';
      row.append(head, ...['zero', 'subnormal', 'infinite'].map(what => {
        const cell = document.createElement('td');
        cell.textContent = percent(part[what]);
        return cell;
      }));
      return row;
    }));
    const part = counted.find(row => row[0] === choice.value)[1];
    const exponent = document.createElement('sup');
    exponent.textContent = String(scale);
    sentence.replaceChildren('With a loss scale of 2', exponent,
        `, ${percent(part.zero)} of these gradients become zero in ${choice.value}, and ${percent(part.infinite)} infinite.`);
    slider.setAttribute('aria-valuetext', `loss scale 2 to the power of ${scale}`);
  };
  choice.append(...formats.map(([name]) => new Option(name)));
  slider.addEventListener('input', show);
  choice.addEventListener('change', show);
  for (const id of ['live-controls', 'live-shown']) document.getElementById(id).hidden = false;
  show();
}
