// One number: its bits, neighbours, ulp and error.
'use strict';

parts.push(tables => {
  const slider = {exponent: byId('number-exponent'), fraction: byId('number-fraction')};
  const field = {exponent: byId('number-exponent-field'), fraction: byId('number-fraction-field')};
  const format = byId('number-format'), rounding = byId('number-rounding'), text = byId('number-text');
  const formats = new Map(tables.formats.map(row => [row.name, row]));
  let bits = '';        // the code without padding, as binary digits
  let shown = null;     // the last answer

  const wordOf = digits => {
    const row = formats.get(format.value);
    const word = digits + '0'.repeat(row.padding_bits);
    return BigInt('0b' + word).toString(16).toUpperCase().padStart(Math.ceil(word.length / 4), '0');
  };
  const setWord = hex => { text.value = 'bits:' + hex; show(); };

  function drawBits() {
    const row = formats.get(format.value);
    const groups = [['sign', row.sign_bits], ['exponent', row.exponent_bits], ['fraction', row.fraction_bits]];
    let at = 0;
    fill(byId('number-bits'), ...groups.filter(([, count]) => count > 0).map(([name, count]) => {
      const buttons = [...Array(count).keys()].map(i => {
        const place = at++;
        const button = make('button', {type: 'button', 'aria-pressed': bits[place] === '1' ? 'true' : 'false',
          'aria-label': `${name} bit ${count - 1 - i}`, 'data-place': place}, bits[place]);
        button.addEventListener('click', () => flip(place));
        return button;
      });
      return make('div', {class: 'group ' + name}, make('span', {}, name), make('div', {class: 'row'}, ...buttons));
    }));
  }

  function flip(place) {
    setWord(wordOf(bits.slice(0, place) + (bits[place] === '1' ? '0' : '1') + bits.slice(place + 1)));
    byId('number-bits').querySelector(`[data-place="${place}"]`)?.focus();
  }

  byId('number-bits').addEventListener('keydown', event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    const place = Number(event.target.dataset?.place);
    if (!step || Number.isNaN(place)) return;
    byId('number-bits').querySelector(`[data-place="${place + step}"]`)?.focus();
    event.preventDefault();
  });

  /** Where the digits of a field stand among the bits. */
  function placeOf(name) {
    const row = formats.get(format.value);
    return name === 'exponent' ? [row.sign_bits, row.exponent_bits] : [row.sign_bits + row.exponent_bits, row.fraction_bits];
  }
  function drawSliders() {
    for (const name of ['exponent', 'fraction']) {
      const [start, count] = placeOf(name);
      const value = count === 0 ? '0' : BigInt('0b' + bits.slice(start, start + count)).toString();
      for (const input of [slider[name], field[name]]) {
        input.max = (2n ** BigInt(count) - 1n).toString();
        input.disabled = count === 0;
        if (input !== document.activeElement || input.type === 'range') input.value = value;
      }
      byId(`number-${name}-most`).textContent = 'of ' + slider[name].max;
    }
  }
  function setField(name, text) {
    const [start, count] = placeOf(name);
    if (!/^\d+$/.test(text) || BigInt(text) >= 2n ** BigInt(count)) return;
    const digits = BigInt(text).toString(2).padStart(count, '0');
    setWord(wordOf(bits.slice(0, start) + digits + bits.slice(start + count)));
  }

  function formula(answer) {
    const row = formats.get(format.value);
    const exponent = parseInt(bits.slice(row.sign_bits, row.sign_bits + row.exponent_bits), 2);
    const fraction = bits.slice(row.sign_bits + row.exponent_bits);
    const sign = row.sign_bits && bits[0] === '1' ? '\u2212' : '';
    if (!answer.ulp) return `exponent field ${exponent}: this code stands for ${answer.shortest}`;
    if (answer.class === 'zero') return `${sign}0`;
    const subnormal = answer.class === 'subnormal';
    const digits = (subnormal ? '0' : '1') + (fraction ? '.' + fraction : '');
    const power = subnormal ? row.emin : exponent - row.bias;
    return `${sign}${digits} (binary) \u00d7 2^${power}` +
      (subnormal ? '   (exponent field 0: subnormal, no leading 1)' : `   (${power} = ${exponent} \u2212 ${row.bias})`);
  }

  /** The neighbours and, where the typed number is not a number of the format, its place between them. */
  function drawLine(answer) {
    const svgNode = (tag, attributes, content) => {
      const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      if (content !== undefined) node.textContent = content;
      return node;
    };
    const holder = byId('number-line');
    if (!answer.ulp) { fill(holder); return; }
    // As wide as the page is: on a phone the labels stand on two lines.
    const width = Math.max(300, Math.min(660, holder.clientWidth || 660));
    const middle = width / 2, apart = width / 3;
    const svg = svgNode('svg', {viewBox: `0 0 ${width} 112`, width, height: 112, role: 'img', 'aria-label':
      `neighbours: ${answer.below ?? 'none'} and ${answer.above ?? 'none'}`});
    const tick = (x, label, kind, y, anchor) => svg.append(
      svgNode('line', {x1: x, x2: x, y1: 34, y2: 58, class: kind}),
      svgNode('text', {x: anchor === 'start' ? 0 : anchor === 'end' ? width : x, y, 'text-anchor': anchor}, label));
    svg.append(svgNode('line', {x1: 4, x2: width - 4, y1: 46, y2: 46, class: 'axis'}));
    if (answer.below) tick(middle - apart, answer.below, 'axis', 78, 'start');
    if (answer.above) tick(middle + apart, answer.above, 'axis', 78, 'end');
    tick(middle, answer.as_fp64, 'here', 102, 'middle');
    const off = Number(answer.error_in_ulps);
    if (answer.error_in_ulps && off !== 0 && Math.abs(off) <= 1) {
      const x = middle - apart * off;   // the error is value - typed
      const label = text.value.trim();
      svg.append(svgNode('line', {x1: x, x2: x, y1: 26, y2: 58, class: 'typed'}),
        svgNode('text', {x, y: 18, 'text-anchor': 'middle', class: 'typed-text'},
          label.length > 24 ? label.slice(0, 23) + '\u2026' : label));
    }
    fill(holder, svg);
  }

  function drawTable() {
    const rows = tables.formats.map(row => {
      try {
        const answer = ask('describe', row.name, rounding.value, typed());
        const error = answer.error_in_ulps ? answer.error_in_ulps.slice(0, 10) : '';
        return [row.name, '0x' + answer.hex, answer.as_fp64, error, answer.flags.join(', ')];
      } catch (problem) {
        return [row.name, '', 'no such number', '', ''];
      }
    });
    const head = ['format', 'bits', 'value', 'error in ulp', 'flags'];
    fill(byId('number-table'), make('tr', {}, ...head.map(name => make('th', {scope: 'col'}, name))),
      ...rows.map(row => make('tr', {class: row[0] === format.value ? 'chosen' : false},
        ...row.map(cell => make('td', {}, cell)))));
  }

  /** Of an expression whose digits do not end, the first ones. */
  const brief = size => size.length < 80 ? size : size.replace(/^(.{24})\d*/, '$1\u2026');

  /** What stands for the number in other formats: the typed text, or of a storage word its exact value. */
  const typed = () => text.value.trim().startsWith('bits:') ? shown.value : numberText(text.value.trim());

  function show() {
    try {
      shown = ask('describe', format.value, rounding.value, numberText(text.value.trim()));
      showError('number-error', [text], '');
    } catch (error) {
      showError('number-error', [text], error.message);
      return;
    }
    bits = shown.fields.replaceAll(' ', '');
    drawBits();
    drawSliders();
    byId('number-formula').textContent = formula(shown);
    drawLine(shown);
    byId('number-below').disabled = !shown.below_hex;
    byId('number-above').disabled = !shown.above_hex;
    byId('number-negate').disabled = !formats.get(format.value).sign_bits;
    fillFacts(byId('number-facts'), [
      ['value', shown.value], ['shortest decimal', shown.shortest], ['storage word', '0x' + shown.hex],
      ['hexadecimal float', shown.hex_float], ['class', shown.class],
      ['next below', shown.below && `${shown.below}  (0x${shown.below_hex})`],
      ['next above', shown.above && `${shown.above}  (0x${shown.above_hex})`],
      ['ulp', shown.ulp && `2^${shown.ulp_exponent} = ${shown.ulp}`],
      ['error', shown.error_in_ulps && `${shown.error_in_ulps} ulp = ${brief(shown.error_size)}`],
      ['flags', shown.flags.join(', ')]]);
    drawTable();
  }

  fillSelect(format, tables.formats.map(row => [row.name, `${row.name}: ${row.description}`]), 'fp16');
  fillSelect(rounding, tables.roundings.map(name => [name, name.replace('_', ' ')]), 'nearest_even');
  byId('number-below').addEventListener('click', () => setWord(shown.below_hex));
  byId('number-above').addEventListener('click', () => setWord(shown.above_hex));
  byId('number-negate').addEventListener('click', () => setWord(wordOf((bits[0] === '1' ? '0' : '1') + bits.slice(1))));
  format.addEventListener('change', () => {
    if (text.value.trim().startsWith('bits:')) text.value = shown.value;   // the same number, not the same bits
    show();
  });
  rounding.addEventListener('change', show);
  text.addEventListener('input', show);
  for (const name of ['exponent', 'fraction']) {
    slider[name].addEventListener('input', () => setField(name, slider[name].value));
    field[name].addEventListener('input', () => setField(name, field[name].value));
  }
  window.addEventListener('resize', () => { if (shown) drawLine(shown); });
  show();
  addPermalink('number', {format, rounding, text}, show);
});
