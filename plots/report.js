// Makes the drawings of the report answer: values under the pointer, series switched off, a part seen larger. Without it
// they stand as gnuplot drew them. It reads gnuplot's SVG: a group gnuplot_plot_<n><panel> with a <title> for each curve,
// and before a panel's curves its tick labels, each beside the path of its tick.
'use strict';
{
  const numbers = text => (text.match(/-?\d+\.?\d*(e-?\d+)?/g) || []).map(Number);

  // ---- Axes: from a place on the drawing to what its tick labels say ----

  // "0.1", " 20 %", or 2 with a raised 10.
  function tickOf(label) {
    const [x, y] = numbers(label.previousElementSibling.getAttribute('d'));
    const parts = [...label.querySelectorAll('tspan')].filter(part => part.textContent.trim());
    const raised = parts.length === 2 && parts[1].hasAttribute('dy');
    const text = label.textContent.trim();
    const number = raised ? Number(parts[0].textContent) ** Number(parts[1].textContent) : parseFloat(text);
    return {x, y, text, number: raised || /^-?[\d.]+(e[-+]?\d+)?\s*%?$/.test(text) ? number : NaN,
            base: raised ? Number(parts[0].textContent) : 0, unit: text.endsWith('%') ? ' %' : ''};
  }

  function axisOf(ticks, side) {
    if (ticks.length < 2) return () => '';
    if (ticks.some(tick => isNaN(tick.number))) {
      return at => ticks.reduce((a, b) => Math.abs(a[side] - at) < Math.abs(b[side] - at) ? a : b).text;
    }
    const [first, last] = [ticks[0], ticks[ticks.length - 1]];
    const {base, unit} = first;
    const between = (f, at) => f(first.number) +
        (f(last.number) - f(first.number)) * (at - first[side]) / (last[side] - first[side]);
    const error = f => Math.max(...ticks.map(tick => Math.abs(between(f, tick[side]) - f(tick.number)))) /
        Math.abs(f(last.number) - f(first.number));
    const positive = ticks.every(tick => tick.number > 0);
    const wide = Math.max(first.number, last.number) >= 10 * Math.min(first.number, last.number);
    const logarithmic = positive && (base || (ticks.length === 2 ? wide : error(Math.log) < error(x => x)));
    return at => {
      if (!logarithmic) {
        const step = Math.abs(last.number - first.number) * 1e-4;
        return String(+between(x => x, at).toFixed(Math.max(0, Math.ceil(-Math.log10(step))))) + unit;
      }
      const exponent = between(Math.log, at);
      return base ? `${base}^${+(exponent / Math.log(base)).toFixed(2)}` : String(+Math.exp(exponent).toPrecision(4)) + unit;
    };
  }

  // ---- Curves: the points that were drawn ----

  // Without the sample beside its name in the key.
  function pointsOf(group) {
    const points = [];
    for (const path of group.querySelectorAll('path')) {
      const all = numbers(path.getAttribute('d'));
      for (let i = 0; i + 1 < all.length; i += 2) points.push([all[i], all[i + 1]]);
    }
    for (const mark of group.querySelectorAll('use')) points.push(numbers(mark.getAttribute('transform')).slice(0, 2));
    for (const polygon of group.querySelectorAll('polygon')) {
      const all = numbers(polygon.getAttribute('points'));
      // A bar: the middle of its end, half of its width, and where it begins.
      if (all.length === 8) points.push([(all[0] + all[2]) / 2, all[5], Math.abs(all[2] - all[0]) / 2, all[1]]);
      else for (let i = 0; i + 1 < all.length; i += 2) points.push([all[i], all[i + 1]]);
    }
    const name = group.querySelector('g[transform] > text');
    if (!name) return points;
    const [x, y] = numbers(name.parentNode.getAttribute('transform'));
    return points.filter(point => Math.abs(point[1] - y + 5) > 12 || Math.abs(point[0] - x) > 60);
  }

  const colourOf = group => {
    const drawn = group.querySelector('path[stroke], use[color], polygon[fill]');
    return drawn ? drawn.getAttribute('stroke') || drawn.getAttribute('color') || drawn.getAttribute('fill') : '';
  };

  // All curves in the order drawn; a panel's axes come from the ticks that stand before its first curve.
  function curvesOf(svg) {
    const curves = [];
    let ticks = [], panel = null, axes = null;
    for (const element of svg.querySelectorAll('.tick, g[id*="gnuplot_plot_"]')) {
      if (element.classList.contains('tick')) {
        const before = element.previousElementSibling;
        if (before && before.tagName === 'path') ticks.push(element);
        continue;
      }
      const [, suffix] = element.id.match(/gnuplot_plot_\d+(\D*)$/) || [null, ''];
      if (suffix !== panel) {
        const isY = label => label.getAttribute('text-anchor') === 'end' && !/rotate/.test(label.getAttribute('transform'));
        axes = {x: axisOf(ticks.filter(t => !isY(t)).map(tickOf), 'x'), y: axisOf(ticks.filter(isY).map(tickOf), 'y')};
        [panel, ticks] = [suffix, []];
      }
      const title = element.querySelector('title').textContent;
      curves.push({group: element, axes, panel, name: /^gnuplot_plot_/.test(title) ? '' : title,
                   colour: colourOf(element), points: pointsOf(element)});
    }
    return curves;
  }

  // ---- What a reader does ----

  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  document.body.append(tip);

  function answer(drawing) {
    const svg = drawing.querySelector('svg');
    if (!svg) return;
    if (still) svg.pauseAnimations();
    const whole = svg.getAttribute('viewBox').split(' ').map(Number);
    const create = (tag, attributes) => {
      const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      svg.append(element);
      return element;
    };
    const mark = create('circle', {r: 6, class: 'mark', visibility: 'hidden'});
    const frame = create('rect', {class: 'frame', visibility: 'hidden'});
    const edges = create('g', {class: 'edges'});  // what the axes say along the edges of a part that is seen larger
    const tools = document.createElement('div');
    tools.className = 'tools';
    const button = (text, label, act) => {
      const element = document.createElement('button');
      Object.assign(element, {type: 'button', textContent: text, title: label, onclick: () => act(element)});
      tools.append(element);
      return element;
    };
    let curves = null;
    const all = () => curves = curves || curvesOf(svg);

    const placeOf = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const show = box => {
      svg.setAttribute('viewBox', box.join(' '));
      edges.replaceChildren();
      const [x, y, width, height] = box, unit = width / whole[2];
      const distance = point => Math.hypot(point[0] - x - width / 2, point[1] - y - height / 2);
      const middle = all().flatMap(curve => curve.points.map(point => [distance(point), curve.axes]))
          .reduce((a, b) => a[0] <= b[0] ? a : b, [Infinity, null])[1];
      for (const part of width < whole[2] && middle ? [.15, .4, .65, .9] : []) {
        for (const [left, up, anchor, text] of [[x + part * width, y + height - 6 * unit, 'middle', middle.x(x + part * width)],
                                                [x + 6 * unit, y + part * height, 'start', middle.y(y + part * height)]]) {
          const label = create('text', {x: left, y: up, 'text-anchor': anchor, 'font-size': 15 * unit, 'stroke-width': 4 * unit});
          label.textContent = text;
          edges.append(label);
        }
      }
      svg.classList.toggle('zoomed', box[2] < whole[2]);
      back.disabled = box[2] >= whole[2];
    };
    const boxNow = () => svg.getAttribute('viewBox').split(' ').map(Number);
    const zoom = (x, y, width) => {
      const height = width * whole[3] / whole[2];
      const inside = (from, size, limit) => Math.min(Math.max(0, from), limit - size);
      show(width >= whole[2] ? whole : [inside(x - width / 2, width, whole[2]), inside(y - height / 2, height, whole[3]),
                                        width, height]);
    };
    button('+', 'zoom in', () => { const [x, y, w, h] = boxNow(); zoom(x + w / 2, y + h / 2, w / 1.5); });
    const back = button('whole figure', 'end the zoom', () => show(whole));
    back.disabled = true;

    // The nearest point of a curve that is shown.
    const near = place => {
      const reach = 30 * boxNow()[2] / whole[2];
      let [best, least] = [null, reach];
      for (const curve of all()) {
        if (curve.group.style.display === 'none') continue;
        for (const [x, y, half = 0, base = y] of curve.points) {
          const up = Math.abs(y - place.y);
          const inside = Math.abs(x - place.x) < half && (place.y - y) * (place.y - base) < 0;
          const distance = inside ? up * reach / (up + reach)  // a bar answers everywhere
                                  : Math.hypot(Math.max(0, Math.abs(x - place.x) - half), up);
          if (distance < least) [best, least] = [{curve, x, y}, distance];
        }
      }
      return best;
    };
    const tell = event => {
      const found = near(placeOf(event));
      tip.hidden = !found;
      mark.setAttribute('visibility', found ? 'visible' : 'hidden');
      if (!found) return;
      const {curve, x, y} = found;
      mark.setAttribute('cx', x);
      mark.setAttribute('cy', y);
      tip.textContent = [curve.name, [curve.axes.x(x), curve.axes.y(y)].filter(Boolean).join('; ')].filter(Boolean).join(': ');
      tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4) + 'px';
      tip.style.top = event.clientY + 18 + 'px';
      tip.hidden = !tip.textContent;
    };
    const hide = () => { tip.hidden = true; mark.setAttribute('visibility', 'hidden'); };

    // A mouse draws the rectangle to be seen larger; a finger moves what is larger already.
    let from = null;
    svg.addEventListener('pointerdown', event => {
      from = placeOf(event);
      if (event.pointerType === 'mouse') event.preventDefault();
      else tell(event);
    });
    svg.addEventListener('pointermove', event => {
      if (!from || !event.buttons) return tell(event);
      const to = placeOf(event);
      if (event.pointerType !== 'mouse') {
        const [x, y, w, h] = boxNow();
        if (w < whole[2]) zoom(x + w / 2 + from.x - to.x, y + h / 2 + from.y - to.y, w);
        return;
      }
      hide();
      for (const [key, value] of Object.entries({x: Math.min(from.x, to.x), y: Math.min(from.y, to.y),
                                                 width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y),
                                                 visibility: 'visible'})) frame.setAttribute(key, value);
    });
    svg.addEventListener('pointerup', event => {
      frame.setAttribute('visibility', 'hidden');
      const to = placeOf(event);
      const width = from ? Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y) * whole[2] / whole[3]) : 0;
      if (event.pointerType === 'mouse' && width > 8) zoom((from.x + to.x) / 2, (from.y + to.y) / 2, width);
      from = null;
    });
    svg.addEventListener('pointerleave', () => { from = null; frame.setAttribute('visibility', 'hidden'); hide(); });
    svg.addEventListener('dblclick', () => show(whole));

    // A button for each name, folded where the names stand at the curves; curves without a name go with the one of their colour.
    const names = [...new Set(all().map(curve => curve.name.split(' minus ')[0]).filter(Boolean))];
    const key = drawing.querySelector('.key');
    const keyed = [...(key ? key.children : [])].map(one => one.textContent.split(' minus ')[0]);
    const folded = document.createElement('details');
    folded.innerHTML = '<summary>curves</summary>';
    for (const name of names.length > 1 ? names : []) {
      const own = all().filter(curve => curve.name.split(' minus ')[0] === name);
      const companions = all().filter(curve => !curve.name && own.some(o => o.colour === curve.colour && o.panel === curve.panel));
      const element = button(name, 'show or hide ' + name, () => {
        const on = element.getAttribute('aria-pressed') !== 'true';
        element.setAttribute('aria-pressed', on);
        for (const curve of [...own, ...companions]) curve.group.style.display = on ? '' : 'none';
      });
      element.setAttribute('aria-pressed', true);
      element.style.borderLeftColor = own[0].colour;
      (keyed.includes(name) ? tools : folded).append(element);
    }
    if (folded.children.length > 1) tools.append(folded);
    if (key) key.replaceWith(tools); else drawing.append(tools);
  }

  for (const drawing of document.querySelectorAll('figure.answers > .drawing')) answer(drawing);

  // A link to what is folded opens it.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', unfold);
  unfold();
}
