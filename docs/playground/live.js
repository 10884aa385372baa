// Live figures of the lessons: <section data-live="swamp">. All arithmetic is softfloat's; each figure has two tasks that
// the page checks.
'use strict';
{
  const figures = {};  // by name: (box, arithmetic) => nothing
  const svgNamespace = 'http://www.w3.org/2000/svg';

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const shape = (tag, attributes, text = '') => {
    const element = document.createElementNS(svgNamespace, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };
  const short = number => String(+Number(number).toPrecision(5));

  // ---- What all figures are made of ----

  /** Fields as [name, label, start value, choices], {most: 32} to drag from 0 to 32; `show` gets their values, and gives {sentence, content, ...state}. */
  function build(box, fields, tasks, show) {
    const inputs = fields.map(([name, label, value, choices]) => {
      const input = Array.isArray(choices) ? make('select', {}, ...choices.map(choice => new Option(choice)))
          : choices ? make('input', {type: 'range', min: 0, max: choices.most}) : make('input', {size: Math.max(10, value.length), spellcheck: 'false'});
      input.value = value;
      return [name, input, make('label', {}, label + ' ', input)];
    });
    const content = make('div', {class: 'live-content', tabindex: 0}), sentence = make('p', {'aria-live': 'polite'});
    const marks = tasks.map(([text]) => make('li', {}, text));
    box.append(make('div', {class: 'live-fields'}, ...inputs.map(row => row[2])), content, sentence,
               make('p', {}, make('strong', {}, 'Tasks')), make('ol', {class: 'live-tasks'}, ...marks));
    const update = () => {
      let state;
      try {
        state = show(Object.fromEntries(inputs.map(([name, input]) => [name, input.value])));
      } catch (error) {
        content.replaceChildren();
        sentence.textContent = error.message;
        return;
      }
      content.replaceChildren(state.content);
      sentence.textContent = state.sentence;
      tasks.forEach(([, isDone], i) => {
        if (!isDone(state) || marks[i].classList.contains('done')) return;
        marks[i].classList.add('done');
        marks[i].append(' ', make('strong', {}, 'Done.'));
      });
    };
    for (const [, input] of inputs) input.addEventListener('input', update);
    update();
  }

  /** Lines [name, class, values] over 0, 1, 2 ... in one drawing with the same axis. */
  // The palette's colours of formats, and one that none has.
  const lookOf = format => ({bf16: 'c1', fp16: 'c2', e4m3: 'c3', e5m2: 'c3', e2m1: 'c4', tf32: 'c6', fp32: 'c8'})[format] || 'c9';

  function lines(rows, title, base = 0) {
    const width = 640, height = 220, left = 84, bottom = 190;
    const finite = rows.flatMap(row => row[2]).filter(Number.isFinite);
    const most = Math.max(...finite), least = Math.min(base, ...finite), longest = Math.max(...rows.map(row => row[2].length));
    const x = i => left + (width - left - 150) * i / Math.max(1, longest - 1);
    const y = value => bottom - (bottom - 20) * (value - least) / (most - least || 1);
    const svg = shape('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title, class: 'chart'});
    svg.append(shape('line', {class: 'axis', x1: left, x2: x(longest - 1), y1: y(Math.max(least, 0)), y2: y(Math.max(least, 0))}),
               shape('text', {x: left - 6, y: y(most) + 4, 'text-anchor': 'end'}, short(most)),
               shape('text', {x: left - 6, y: y(least) + 4, 'text-anchor': 'end'}, short(least)),
               shape('text', {x: left, y: height - 8}, title),
               shape('text', {x: x(longest - 1), y: height - 8, 'text-anchor': 'end'}, `${longest - 1}`));
    let free = 24;  // names stand at the ends of their curves, one below the other
    const endOf = ([, , values]) => y(values.filter(Number.isFinite).at(-1));
    for (const [name, look, values] of [...rows].sort((a, b) => endOf(a) - endOf(b))) {
      const points = values.map((value, at) => Number.isFinite(value) ? `${x(at).toFixed(1)},${y(value).toFixed(1)}` : '').join(' ');
      const at = Math.min(Math.max(free, endOf([name, look, values]) + 4), bottom);
      free = at + 28;
      svg.append(shape('polyline', {class: 'line ' + look, style: 'fill:none', points}),
                 shape('text', {x: width - 2, y: at, 'text-anchor': 'end'}, name));
    }
    return svg;
  }

  function table(head, rows) {
    return make('table', {class: 'numbers'}, make('thead', {}, make('tr', {}, ...head.map(text => make('th', {}, text)))),
                make('tbody', {}, ...rows.map(row => make('tr', {}, ...row.map(text => make('td', {}, String(text)))))));
  }

  const numbersOf = text => {
    const list = text.split(/[\s,]+/).filter(Boolean).map(Number);
    if (list.length === 0 || list.some(Number.isNaN)) throw new Error('Numbers with commas between, please.');
    return list;
  };
  const within = (text, least, most, what) => {
    const number = Number(text);
    if (text.trim() === '' || !(number >= least && number <= most)) throw new Error(`${what}: a number from ${least} to ${most}, please.`);
    return number;
  };

  // ---- The figures ----

  figures.line = (box, {round}) => build(box,
      [['format', 'Format', 'e2m1', ['e2m1', 'e3m2', 'e4m3', 'e5m2', 'bf16', 'fp16']], ['number', 'Number', '2.6']],
      [['Find a number between 1 and 2 that E2M1 rounds to 2.', s => s.format === 'e2m1' && s.exact > 1 && s.exact < 2 && s.value === 2],
       ['Find a number that becomes infinite or NaN in FP8 E5M2, but not in bf16.', s => s.format === 'e5m2' && !Number.isFinite(s.value) && Number.isFinite(s.bf16)]],
      ({format, number}) => {
        const row = round(format, number);
        return {format, exact: Number(number), value: Number(row.shortest), bf16: Number(round('bf16', number).shortest),
                sentence: `${number} becomes ${row.value}; its error is ${row.error_in_ulps || 0} ulp.`,
                content: table(['below', 'stored', 'above', 'bits'], [[row.below || '', row.shortest, row.above || '', row.hex]])};
      });

  figures.swamp = (box, {add, bits}) => build(box,
      [['format', 'Format', 'fp16', ['fp16', 'bf16', 'e4m3', 'e5m2']], ['addend', 'Addend', '1'], ['times', 'Additions', '3000']],
      [['Make the sum in bf16 stop at 512.', s => s.format === 'bf16' && s.stopped && s.sum === 512],
       ['Find an addend with which fp16 adds 3000 times and never stops.', s => s.format === 'fp16' && s.times >= 3000 && !s.stopped && Number.isFinite(s.sum)]],
      ({format, addend, times}) => {
        const count = within(times, 1, 5000, 'Additions');
        const step = bits(format, addend), sums = [0];
        let sum = bits(format, '0'), stopped = 0;
        for (let i = 1; i <= count; ++i) {
          const next = stopped ? sum : add(format, sum, step).hex;
          if (!stopped && next === sum) stopped = i;
          sum = next;
          sums.push(stopped ? sums[i - 1] : Number(add(format, sum, bits(format, '0')).decimal));
        }
        const exact = sums.map((_, i) => i * Number(addend));
        return {format, times: count, stopped, sum: sums[count],
                sentence: stopped ? `The sum stops at ${short(sums[count])}: adding ${addend} changes nothing there. Exact: ${short(exact[count])}.`
                                  : `After ${count} additions: ${short(sums[count])}. Exact: ${short(exact[count])}.`,
                content: lines([[format, lookOf(format), sums], ['exact', 'c9', exact]], 'The sum by additions')};
      });

  figures.master = (box, {add, bits, round}) => build(box,
      [['format', 'Weights in', 'fp16', ['fp16', 'bf16']], ['weight', 'Weight', '1'], ['update', 'Update', '0.001'], ['times', 'Steps', '200']],
      [['Find an update that the weight alone loses wholly, and the master keeps.', s => s.alone === s.start && s.kept !== s.start],
       ['From the weight 1 in fp16, find an update that counts downward but not upward (change its sign).', (() => {
         const seen = new Set();
         return s => {
           if (s.format === 'fp16' && s.start === 1) seen.add(`${Math.abs(s.update)} ${Math.sign(s.update)} ${s.alone === 1}`);
           return [...seen].some(text => text.endsWith('-1 false') && seen.has(text.replace('-1 false', '1 true')));
         };
       })()]],
      ({format, weight, update, times}) => {
        const count = within(times, 1, 2000, 'Steps');
        const zero = bits(format, '0'), step = bits(format, update), fine = bits('fp32', update);
        let narrow = bits(format, weight), master = bits('fp32', weight);
        const alone = [Number(weight)], kept = [Number(weight)];
        for (let i = 0; i < count; ++i) {
          narrow = add(format, narrow, step).hex;
          master = add('fp32', master, fine).hex;
          alone.push(Number(add(format, narrow, zero).decimal));
          kept.push(Number(round(format, add('fp32', master, bits('fp32', '0')).decimal).shortest));
        }
        return {format, start: Number(weight), update: Number(update), alone: alone[count], kept: kept[count],
                sentence: `After ${count} updates of ${update}: ${alone[count]} without a master, ${kept[count]} with one.`,
                content: lines([['without', lookOf(format), alone], ['master', 'c9', kept]], 'The weight by steps', Infinity)};
      });

  // Gradients whose exponents are normal around -20 with deviation 4; one number stands for each binade.
  figures.histogram = (box, {round}) => build(box,
      [['scale', 'Loss scale, from 1 to 2 to the power of 32', '0', {most: 32}], ['format', 'Format', 'fp16', ['fp16', 'bf16', 'e5m2', 'e4m3']]],
      [['Let fp16 keep all but 1 % from zero, and none become infinite.', s => s.format === 'fp16' && s.zero < .01 && s.infinite === 0],
       ['Find a format and a scale with which some gradients are zero and others infinite.', s => s.zero > .001 && s.infinite > .001]],
      ({scale, format}) => {
        const svg = shape('svg', {viewBox: '0 0 640 200', role: 'img', 'aria-label': 'Gradients by exponent', class: 'chart'});
        const part = {zero: 0, subnormal: 0, normal: 0, infinite: 0}, x = exponent => 20 + 9.5 * (exponent + 40);
        let all = 0;
        for (let exponent = -36; exponent <= -4; ++exponent) {
          const share = Math.exp(-(((exponent + 20) / 4) ** 2) / 2), at = exponent + Number(scale);
          const kind = round(format, String(1.5 * 2 ** at)).class, fate = kind in part ? kind : 'infinite';
          all += share, part[fate] += share;
          svg.append(shape('rect', {class: fate, x: x(at), width: 8.5, y: 165 - 140 * share, height: 140 * share}));
        }
        svg.append(shape('line', {class: 'axis', x1: 20, x2: 620, y1: 165, y2: 165}),
                   ...[-40, -20, 0, 20].map(e => shape('text', {x: x(e), y: 190, 'text-anchor': 'middle'}, String(e))));
        for (const fate of Object.keys(part)) part[fate] /= all;
        const percent = share => (100 * share).toFixed(1) + ' %';
        return {...part, format, content: svg,
                sentence: `By exponent. In ${format} with a scale of 2 to the power of ${scale}: ${percent(part.zero)} zero, ${percent(part.subnormal)} subnormal, ${percent(part.infinite)} infinite.`};
      });

  // The sum of a softmax, tile by tile: where the maximum grows, the sum so far is multiplied by a correction.
  figures.softmax = (box, {add, bits, round}) => build(box,
      [['logits', 'Logits', '1, 2, 9, 3, 8.5, 0, 4, 9.5'], ['tile', 'Tile', '2'], ['format', 'Sums in', 'fp16', ['fp16', 'bf16']]],
      [['Order the logits so that no later tile needs a correction.', s => s.rows.length > 1 && s.rows.slice(1).every(row => row[2] === 1)],
       ['Find a tile with which the sum has other bits than that of one tile.', s => s.sum !== s.whole]],
      ({logits, tile, format}) => {
        const list = numbersOf(logits), size = within(tile, 1, list.length, 'Tile');
        const stored = number => Number(round(format, String(number)).shortest);  // a product of two numbers is exact before
        const rowsOf = count => {
          let most = -Infinity, sum = 0;
          const rows = [];
          for (let from = 0; from < list.length; from += count) {
            const some = list.slice(from, from + count), now = Math.max(most, ...some), correction = stored(Math.exp(most - now));
            sum = stored(sum * correction);
            for (const logit of some) sum = Number(add(format, bits(format, String(sum)), bits(format, String(Math.exp(logit - now)))).decimal);
            rows.push([some.join(', '), now, correction, sum]);
            most = now;
          }
          return rows;
        };
        const rows = rowsOf(Math.floor(size)), sum = rows.at(-1)[3], whole = rowsOf(list.length)[0][3];
        return {rows, sum, whole, sentence: `The sum by tiles is ${sum}, of one tile ${whole}.`,
                content: table(['tile', 'maximum', 'correction', 'sum'], rows)};
      });

  figures.scaler = (box, {round}) => build(box,
      [['gradient', 'Largest gradient', '0.5'], ['scale', 'First scale: 2 to the power', '20'], ['every', 'Grows after steps', '20']],
      [['Let no step of the hundred be skipped, with a first scale of at least 2\u00B9\u2070.', s => s.skipped === 0 && s.first >= 10],
       ['Find the first scale from which the first three steps are skipped, and no others before step 20.', s => s.early === 3 && s.skips.slice(0, 3).join() === '0,1,2']],
      ({gradient, scale, every}) => {
        const largest = within(gradient, 1e-8, 1e6, 'Largest gradient');
        const first = within(scale, 0, 40, 'First scale'), growth = within(every, 2, 100, 'Grows after');
        let exponent = first, clean = 0;
        const exponents = [], skips = [];
        for (let i = 0; i < 100; ++i) {
          exponents.push(exponent);
          if (Number.isFinite(Number(round('fp16', String(largest * 2 ** exponent)).shortest))) {
            if (++clean === growth) { ++exponent; clean = 0; }
          } else {
            skips.push(i);
            --exponent;
            clean = 0;
          }
        }
        return {first, skips, skipped: skips.length, early: skips.filter(i => i < 20).length,
                sentence: `${skips.length} of 100 steps are skipped: ${skips.slice(0, 8).join(', ')}${skips.length > 8 ? ' ...' : ''}`,
                content: lines([['exponent', 'c9', exponents]], 'The loss scale by steps')};
      });

  figures.block = (box, {round}) => build(box,
      [['numbers', 'A block', '5, 0.3, -0.02, 1.5, 2, -0.7, 0.1, 0.04']],
      [['Enter a block of at least four numbers of which all but one become zero.', s => s.stored.length >= 4 && s.stored.filter(x => x !== 0).length === 1 && s.exact.filter(x => x !== 0).length > 1],
       ['Enter a block of at least four different numbers of which none is changed.', s => new Set(s.exact).size >= 4 && s.exact.every((x, i) => x === s.stored[i])]],
      ({numbers}) => {
        const exact = numbersOf(numbers), largest = Math.max(...exact.map(Math.abs));
        const exponent = largest > 0 ? Math.floor(Math.log2(largest)) - 2 : 0, scale = 2 ** exponent;
        const codes = exact.map(x => Number(round('e2m1', String(x / scale)).shortest));
        const stored = codes.map(code => code * scale);
        return {exact, stored, sentence: `One scale for the block, as MX has it: 2^${exponent}, so that the largest number lies in E2M1's last binade.`,
                content: table(['number', ...exact.map(String)], [['E2M1 code times scale', ...codes.map((c, i) => `${c}`)], ['stored', ...stored.map(short)]])};
      });

  figures.order = (box, {add, bits}) => build(box,
      [['format', 'Sums in', 'fp16', ['fp16', 'bf16']], ['numbers', 'Eight numbers', '2048, 1, 1, 1, -2048, 1, 1, 1']],
      [['Find eight numbers, not all whole, whose sum is the same in all three ways.', s => s.numbers.length === 8 && s.numbers.some(x => x % 1) && new Set(s.sums).size === 1],
       ['Find eight positive numbers whose sum differs between all three ways.', s => s.numbers.length === 8 && s.numbers.every(x => x > 0) && new Set(s.sums).size === 3]],
      ({format, numbers}) => {
        const list = numbersOf(numbers), words = list.map(x => bits(format, String(x))), zero = bits(format, '0');
        const chain = some => some.reduce((sum, word) => add(format, sum, word).hex, zero);
        const parts = count => {
          const size = Math.ceil(words.length / count);
          return chain(Array.from({length: count}, (_, i) => chain(words.slice(i * size, (i + 1) * size))));
        };
        const sums = [1, 2, 4].map(count => Number(add(format, parts(count), zero).decimal));
        return {numbers: list, sums, sentence: `Exact: ${list.reduce((a, b) => a + b, 0)}. A library that splits the sum by the size of a batch changes the bits of a row with it.`,
                content: table(['one after the other', 'in two parts', 'in four parts'], [sums])};
      });

  figures.cut = (box, {ask}) => build(box,
      [['unit', 'Unit', 'sm_80:mma.fp16.fp32', ['sm_70:mma.fp16.fp32', 'sm_80:mma.fp16.fp32', 'sm_90:mma.fp16.fp32']],
       ['exponent', 'Four products of 2 to the power', '-24'], ['c', 'c', '1']],
      [['On A100 (sm_80), find the smallest power of which four products still change c = 1.', (() => {
         let counted = false, lost = false;
         return s => {
           if (s.unit.startsWith('sm_80') && s.c === 1) { counted ||= s.exponent === -24 && s.result > 1; lost ||= s.exponent === -25 && s.result === 1; }
           return counted && lost;
         };
       })()],
       ['Find a power with which H100 (sm_90) and A100 differ at c = 1: show it on H100.', s => s.unit.startsWith('sm_90') && s.c === 1 && s.exponent === -25 && s.result > 1]],
      ({unit, exponent, c}) => {
        const power = within(exponent, -28, 0, 'The power'), half = Math.floor(power / 2);
        const list = first => Array(4).fill(`0x1p${first}`).join(',');
        const answer = ask('block', unit, list(half), list(power - half), c, '', ''), group = answer.groups[0];
        return {unit, exponent: power, c: Number(c), result: Number(answer.result.decimal),
                sentence: `${unit} gives ${answer.result.decimal} (${answer.result.hex}).`, content: table(['term', 'is', `in units of 2^${group.largest - group.fraction_bits}`, ''],
                                group.terms.filter(term => term.significand !== '0')
                                    .map(term => [term.name, term.origin, term.aligned, term.cut ? 'cut' : '']))};
      });

  document.addEventListener('DOMContentLoaded', async () => {
    const boxes = [...document.querySelectorAll('section[data-live]')];
    if (boxes.length === 0) return;
    try {
      const softfloat = await load_softfloat();
      const ask = (...fields) => {
        const answer = JSON.parse(softfloat.ccall('ulplab_ask', 'string', ['string'], [fields.join('\n')]));
        if (answer.error) throw new Error(answer.error);
        return answer;
      };
      const nearest = ask('tables').roundings[0];
      const round = (format, text) => ask('describe', format, nearest, text);
      const arithmetic = {ask, round, bits: (format, text) => round(format, text).hex,
                          add: (format, a, b) => ask('operate', 'add', format, nearest, a, b).result};
      for (const box of boxes) figures[box.dataset.live](box, arithmetic);
    } catch (error) {
      for (const box of boxes) box.append('This figure could not be loaded: ' + error.message);
    }
  });
}
