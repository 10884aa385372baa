// One dot product of a matrix unit: products, the largest exponent, what is cut, the sum, its rounding.
'use strict';

parts.push(tables => {
  const model = byId('block-model'), example = byId('block-example');
  const inputs = ['a', 'b', 'c', 'a-scales', 'b-scales'].map(name => byId('block-' + name));
  const units = new Map(tables.models.map(row => [row.key, row]));
  const examples = [
    ['Four small products: cut on Ampere, kept on Hopper', 'sm_80:mma.fp16.fp32', '1, #0400, #0400, #0400, #0400',
      '1, #1000, #1000, #1000, #1000', '0'],
    ['Three terms, each cut to nothing, would have made one ulp', 'sm_80:mma.fp16.fp32', '#0600, #0600, #0600',
      '#1000, #1000, #1000', '1'],
    ['A large c swallows every product', 'sm_70:mma.fp16.fp32', '0.5, 0.5, 0.5, 0.5', '1, 1, 1, 1', '33554432'],
    ['Two products cancel: what was cut is all that was left', 'sm_90:mma.fp16.fp32', '4096, -4096, #0400',
      '4096, 4096, 1', '0'],
    ['An fp16 accumulator: 2048 + 1 is 2048', 'sm_90:mma.fp16.fp16', '2048, 1', '1, 1', '0'],
    ['FP8 on Hopper: thirteen fraction bits', 'sm_90:wgmma.e4m3.fp32', '16, 0.0625, 0.0625', '16, 0.25, 0.03125', '0'],
    ['MXFP8: a block scale moves the exponents', 'sm_100:tcgen05.mxf8f6f4.e4m3.fp32', '1.5, 0.25, -3', '2, 1, 0.5', '1', '8', '2^-20'],
    ['MXFP4: sixteen products are one term', 'sm_100:tcgen05.mxf4.e2m1.fp32', '6, 4, 0.5, -1.5', '6, 3, 1, 2', '1', '1', '2^-3'],
    ['NVFP4: scales with fraction bits', 'sm_100:tcgen05.nvf4.e2m1.fp32', '6, 4, 0.5, -1.5', '6, 3, 1, 2', '1', '1.125', '2^-3'],
    ['fp64: a chain of fused multiply-adds', 'sm_90:mma.fp64.fp64', '1, 2^-60, -1', '1, 1, 1', '0'],
    ['Bytes: the sum wraps, or is clamped', 'sm_80:mma.s8.s32', '127, 127', '127, 127', '2147483000'],
  ];
  const steps = ['products', 'largest exponent', 'align and cut', 'sum', 'round'];
  let answer = null;
  let at = 0;   // group * steps.length + step

  const termNumber = term => ({sign: term.sign, significand: BigInt(term.significand), exponent: term.exponent - term.point});
  const alignedNumber = (term, unit) => {
    const value = BigInt(term.aligned);
    return {sign: value < 0n, significand: value < 0n ? -value : value, exponent: unit};
  };

  function productCaption(group) {
    const products = group.terms.reduce((count, term) => term.name === 'c' ? count : count + term.products, 0);
    const together = group.terms[0].products;
    if (together > 1) {
      return `The unit multiplies ${products} pairs and adds ${together} products at a time, exactly. Each sum is multiplied by ` +
        'the significands of both scales; the scales\u2019 exponents are its exponent.';
    }
    return `The unit multiplies ${products} pairs, exactly. Products are not normalised: they lie below 4.` +
      (units.get(answer.key).scale_block ? ' Scales are powers of two: they move the exponents alone.' : '');
  }

  /** Significands as the unit multiplies them, one place before the point or two, times the power of two. */
  function productLines(group) {
    const rows = group.terms.filter(term => term.significand !== '0');
    const width = Math.max(0, ...rows.map(term => term.origin.length));
    const names = Math.max(4, ...rows.map(term => term.name.length));
    return rows.map(term => {
      const digits = BigInt(term.significand).toString(2).padStart(term.point + 2, '0');
      const cut = digits.length - term.point;
      const fraction = digits.slice(cut).replace(/0+$/, '') || '0';
      return `${term.name.padEnd(names)} ${term.origin.padEnd(width)} = ${term.sign ? '\u2212' : '+'}` +
        `${digits.slice(0, cut)}.${fraction} \u00d7 2^${term.exponent}\n`;
    });
  }

  function alignedLines(group, withSum) {
    const unit = group.largest - group.fraction_bits;
    const rows = group.terms.filter(term => term.significand !== '0').map(term =>
      ({name: term.name, number: termNumber(term), note: term.cut ? 'cut' : ''}));
    if (rows.length === 0) return ['every term is zero'];
    let top = group.largest + 1;
    if (withSum) {
      const sum = alignedNumber({aligned: group.sum}, unit);
      rows.push({name: 'sum', number: sum, note: ''});
      if (sum.significand !== 0n) top = Math.max(top, leadingPlace(sum));
    }
    return digitPicture(rows, top, unit, 12);
  }

  function roundingLines(group) {
    const unit = group.largest - group.fraction_bits;
    const sum = alignedNumber({aligned: group.sum}, unit);
    if (sum.significand === 0n) return ['the sum is exactly zero: +0'];
    const result = exactNumber(group.result);
    const bar = Math.max(leadingPlace(sum) - group.kept, group.result.exponent);
    const rows = [{name: 'sum', number: sum}];
    if (group.result.finite) rows.push({name: 'result', number: result});
    return digitPicture(rows, Math.max(leadingPlace(sum), group.result.finite ? leadingPlace(result) : 0), bar, 30);
  }

  /** A unit that does not align: each of its operations is a line. */
  function drawLines() {
    byId('block-caption').textContent = 'This unit does not align groups of products: its operations, one by one.';
    fill(byId('block-picture'), answer.lines.slice(0, at + 1).join('\n') + '\n');
    finishStep(`line ${at + 1} of ${answer.lines.length}`, answer.lines.length);
  }

  function finishStep(where, count) {
    byId('block-where').textContent = where;
    byId('block-back').disabled = at === 0;
    byId('block-next').disabled = byId('block-last').disabled = at === count - 1;
    const late = answer.groups.some(each => each.part > 0)
      ? ' Two fp16 instructions stand in for this one; c is added to their sum, last.' : '';
    byId('block-result').textContent = `Result of the dot product: 0x${answer.result.hex} = ${answer.result.decimal}.${late}`;
  }

  const stepCount = () => answer.lines.length || answer.groups.length * steps.length;

  function draw() {
    if (answer.lines.length) { drawLines(); return; }
    const group = answer.groups[Math.floor(at / steps.length)];
    const step = at % steps.length;
    const lost = group.terms.filter(term => term.cut).length;
    const unit = group.largest - group.fraction_bits;
    const toward = group.rounding === 'toward_zero' ? 'toward zero' : 'to nearest, ties to even';
    const captions = [productCaption(group),
      `The largest exponent among the terms is M = ${group.largest}. All terms are brought to it.`,
      `Each term is cut at 2^(M\u2212F) = 2^${unit}, F = ${group.fraction_bits}, toward zero whatever its sign. ` +
        (lost === 0 ? 'Nothing is lost.' : `${lost} ${lost === 1 ? 'term loses' : 'terms lose'} bits.`),
      `What is left is added as integers, exactly: ${group.sum} \u00d7 2^${unit}.`,
      `The sum is rounded once, ${toward}, to ${group.kept} fraction bits: 0x${group.result.hex} = ${group.result.decimal}.`];
    const pictures = [productLines, productLines, g => alignedLines(g, false), g => alignedLines(g, true), roundingLines];
    byId('block-caption').textContent = group.special ? 'An infinity or a NaN decides: ' + group.result.decimal
      : captions[step];
    fill(byId('block-picture'), ...(group.special ? [] : pictures[step](group)));
    finishStep(`group ${Math.floor(at / steps.length) + 1} of ${answer.groups.length}, step ${step + 1} of 5: ${steps[step]}`,
      stepCount());
  }

  function drawOthers() {
    const head = ['way', 'bits', 'value', 'evidence'];
    const rows = answer.others.map(way => make('tr', {class: way.name === answer.key ? 'chosen'
      : way.hex !== answer.result.hex ? 'differs' : false}, ...[way.name, '0x' + way.hex, way.decimal, way.evidence]
      .map(cell => make('td', {}, cell))));
    fill(byId('block-others'), make('tr', {}, ...head.map(name => make('th', {scope: 'col'}, name))), ...rows);
  }

  /** Names the example that the fields hold; nothing where they hold another dot product. */
  function nameExample() {
    const joined = (key, texts) => [key, ...inputs.map((_, i) => texts[i] ?? '')].join('|').replaceAll(' ', '');
    const now = joined(model.value, inputs.map(input => input.value));
    const at = examples.findIndex(([, key, ...texts]) => joined(key, texts) === now);
    example.value = at < 0 ? '' : at;
  }

  function show() {
    nameExample();
    const block = units.get(model.value).scale_block;
    for (const label of document.querySelectorAll('#block .scales')) label.hidden = block === 0;
    for (const size of document.querySelectorAll('#block .block-size')) size.textContent = block;
    try {
      const written = word => word.trim() === '' || word.trim().startsWith('#') ? word : numberText(word.trim());
      answer = ask('block', model.value, ...inputs.map(input => input.value.split(',').map(written).join(',')));
      showError('block-error', inputs, '');
    } catch (error) {
      showError('block-error', inputs, error.message);
      return;
    }
    at = 0;
    const unit = units.get(model.value);
    byId('block-evidence').textContent = `${unit.gpus ? unit.gpus + '; ' : ''}${unit.evidence}: ${unit.proof}`;
    draw();
    drawOthers();
  }

  function move(to) {
    at = Math.min(Math.max(to, 0), stepCount() - 1);
    draw();
  }

  function choose() {
    const [, key, ...texts] = examples[example.value];
    model.value = key;
    inputs.forEach((input, i) => { input.value = texts[i] ?? ''; });
    show();
  }

  fillSelect(example, examples.map(([title], i) => [i, title]), 0);
  fillSelect(model, tables.models.map(row => [row.key, row.gpus ? `${row.key}  (${row.gpus})` : row.key]), examples[0][1]);
  byId('block-back').addEventListener('click', () => move(at - 1));
  byId('block-next').addEventListener('click', () => move(at + 1));
  byId('block-last').addEventListener('click', () => move(Infinity));
  byId('block-picture').addEventListener('keydown', event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step) { move(at + step); event.preventDefault(); }
  });
  example.addEventListener('change', choose);
  model.addEventListener('change', show);
  for (const input of inputs) input.addEventListener('input', show);
  choose();
  addPermalink('block', {model, a: inputs[0], b: inputs[1], c: inputs[2], a_scales: inputs[3], b_scales: inputs[4]}, show,
    {step: [() => at + 1, step => { if (/^\d+$/.test(step)) move(Number(step) - 1); }]});
});
