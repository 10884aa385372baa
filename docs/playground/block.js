// One dot product of a matrix unit: products, the largest exponent, what is cut, the sum, its rounding.
'use strict';

parts.push(tables => {
  const model = byId('block-model'), example = byId('block-example');
  const inputs = ['a', 'b', 'c'].map(name => byId('block-' + name));
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
  ];
  const steps = ['products', 'largest exponent', 'align and cut', 'sum', 'round'];
  let answer = null;
  let at = 0;   // group * steps.length + step

  const termName = term => term.k < 0 ? 'c' : 'k' + term.k;
  const termNumber = term => ({sign: term.sign, significand: BigInt(term.significand), exponent: term.exponent - term.point});
  const alignedNumber = (term, unit) => {
    const value = BigInt(term.aligned);
    return {sign: value < 0n, significand: value < 0n ? -value : value, exponent: unit};
  };

  /** Significands as the unit multiplies them, one place before the point or two, times the power of two. */
  function productLines(group) {
    const rows = group.terms.filter(term => term.significand !== '0');
    const origin = term => term.k < 0 ? term.a : `${term.a} \u00d7 ${term.b}`;
    const width = Math.max(0, ...rows.map(term => origin(term).length));
    return rows.map(term => {
      const digits = BigInt(term.significand).toString(2).padStart(term.point + 2, '0');
      const cut = digits.length - term.point;
      const fraction = digits.slice(cut).replace(/0+$/, '') || '0';
      return `${termName(term).padEnd(4)} ${origin(term).padEnd(width)} = ${term.sign ? '\u2212' : '+'}` +
        `${digits.slice(0, cut)}.${fraction} \u00d7 2^${term.exponent}\n`;
    });
  }

  function alignedLines(group, withSum) {
    const unit = group.largest - group.fraction_bits;
    const rows = group.terms.filter(term => term.significand !== '0').map(term =>
      ({name: termName(term), number: termNumber(term), note: term.cut ? 'cut' : ''}));
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

  /** A unit that does not align: its result for one product, two, and so on. */
  function drawSums() {
    const rows = answer.sums.slice(0, at + 1);
    const width = Math.max(...rows.map(row => `${row.a} \u00d7 ${row.b}`.length));
    byId('block-caption').textContent = 'This unit rounds each sum instead of aligning a group of products. What it gives for ' +
      (at === 0 ? 'the first product and c:' : `the first ${at + 1} products and c:`);
    fill(byId('block-picture'), ...rows.map((row, i) => `k${i}`.padEnd(4) + ` ${row.a} \u00d7 ${row.b}`.padEnd(width + 2) +
      ` -> 0x${row.result.hex} = ${row.result.decimal}\n`));
    finishStep(`product ${at + 1} of ${answer.sums.length}`, answer.sums.length);
  }

  function finishStep(where, count) {
    byId('block-where').textContent = where;
    byId('block-back').disabled = at === 0;
    byId('block-next').disabled = byId('block-last').disabled = at === count - 1;
    const late = answer.groups.some(each => each.part > 0)
      ? ' Two fp16 instructions stand in for this one; c is added to their sum, last.' : '';
    byId('block-result').textContent = `Result of the dot product: 0x${answer.result.hex} = ${answer.result.decimal}.${late}`;
  }

  const stepCount = () => answer.sums.length || answer.groups.length * steps.length;

  function draw() {
    if (answer.sums.length) { drawSums(); return; }
    const group = answer.groups[Math.floor(at / steps.length)];
    const step = at % steps.length;
    const lost = group.terms.filter(term => term.cut).length;
    const unit = group.largest - group.fraction_bits;
    const toward = group.rounding === 'toward_zero' ? 'toward zero' : 'to nearest, ties to even';
    const captions = [
      `The unit multiplies ${group.terms.length - 1} pairs, exactly. Products are not normalised: they lie below 4.`,
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
    const rows = answer.others.map(way => make('tr', {class: way.name === answer.row.key ? 'chosen'
      : way.hex !== answer.result.hex ? 'differs' : false}, ...[way.name, '0x' + way.hex, way.decimal, way.evidence]
      .map(cell => make('td', {}, cell))));
    fill(byId('block-others'), make('tr', {}, ...head.map(name => make('th', {scope: 'col'}, name))), ...rows);
  }

  function show() {
    try {
      const written = word => word.trim() === '' || word.trim().startsWith('#') ? word : numberText(word.trim());
      answer = ask('block', model.value, ...inputs.map(input => input.value.split(',').map(written).join(',')));
      showError('block-error', inputs, '');
    } catch (error) {
      showError('block-error', inputs, error.message);
      return;
    }
    at = 0;
    byId('block-evidence').textContent = `${answer.row.gpus ? answer.row.gpus + '; ' : ''}${answer.row.evidence}: ${answer.row.proof}`;
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
    inputs.forEach((input, i) => { input.value = texts[i]; });
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
  addPermalink('block', {model, a: inputs[0], b: inputs[1], c: inputs[2]}, show,
    {step: [() => at + 1, step => { if (/^\d+$/.test(step)) move(Number(step) - 1); }]});
});
