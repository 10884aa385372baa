// Two or three numbers: the exact result beside the rounded one, digit by digit.
'use strict';

parts.push(tables => {
  const format = byId('operation-format'), rounding = byId('operation-rounding'), op = byId('operation-op');
  const inputs = ['a', 'b', 'c'].map(name => byId('operation-' + name));
  const signs = {add: '+', subtract: '\u2212', multiply: '\u00d7', divide: '/'};

  /** The exact result of everything but a division. */
  function exactResult(a, b, c) {
    switch (op.value) {
      case 'add': return addExactly(a, b);
      case 'subtract': return addExactly(a, negated(b));
      case 'multiply': return multiplyExactly(a, b);
      case 'fma': return addExactly(multiplyExactly(a, b), c);
    }
  }

  function terms(a, b, c) {
    switch (op.value) {
      case 'add': return [['a', a], ['b', b]];
      case 'subtract': return [['a', a], ['\u2212b', negated(b)]];
      case 'fma': return [['a \u00d7 b', multiplyExactly(a, b)], ['c', c]];
      default: return [['a', a], ['b', b]];
    }
  }

  /** result - exact, in units in the last place of the result; of a quotient (result * b - a) / b. */
  function errorInUlps(answer, a, b, c) {
    const result = exactNumber(answer.result);
    const ulp = {sign: false, significand: 1n, exponent: answer.result.exponent};
    if (op.value !== 'divide') return quotientText(addExactly(result, negated(exactResult(a, b, c))), ulp);
    const rest = addExactly(multiplyExactly(result, b), negated(a));
    return quotientText(rest, multiplyExactly(b, ulp));
  }

  function picture(answer, a, b, c) {
    if (op.value === 'divide') return [];
    const result = exactNumber(answer.result);
    const bar = answer.result.exponent;
    const rows = op.value === 'multiply' ? [] : terms(a, b, c).map(([name, number]) => ({name, number}));
    rows.push({name: 'exact', number: exactResult(a, b, c)}, {name: 'result', number: result});
    const present = rows.map(row => row.number).filter(x => x.significand !== 0n);
    if (present.length === 0) return [];
    return digitPicture(rows, Math.max(...present.map(leadingPlace)), bar, 26);
  }

  function sentence(answer, error) {
    const text = x => x.decimal;
    const expression = op.value === 'fma' ? `${text(answer.a)} \u00d7 ${text(answer.b)} + ${text(answer.c)}`
      : `${text(answer.a)} ${signs[op.value]} ${text(answer.b)}`;
    let line = `${expression} gives ${text(answer.result)}`;
    if (error === '0') line += ', exactly.';
    else if (error) line += `, an error of ${error} ulp.`;
    else line += '.';
    const swamped = (op.value === 'add' || op.value === 'subtract') && error && error !== '0' &&
      (answer.result.hex === answer.a.hex || answer.result.hex === answer.b.hex);
    if (swamped) line += ' The smaller operand is swamped: it changed nothing.';
    if (op.value === 'fma') {
      line += answer.unfused.hex === answer.result.hex
        ? ' Rounding the product first gives the same here.'
        : ` Rounding the product first (${text(answer.product)}) would give ${text(answer.unfused)}.`;
    }
    return line;
  }

  function show() {
    byId('operation-c-label').hidden = op.value !== 'fma';
    const words = [];
    for (const input of inputs) {
      try {
        words.push(ask('describe', format.value, rounding.value, input.value.trim()));
        showError('operation-error', [input], '');
      } catch (error) {
        showError('operation-error', [input], error.message);
        return;
      }
    }
    const answer = ask('operate', op.value, format.value, rounding.value, ...words.map(word => word.hex));
    const all = [answer.a, answer.b, answer.c ?? answer.b, answer.result];
    const finite = all.every(x => x.finite) && !(op.value === 'divide' && answer.b.significand === '0');
    const [a, b, c] = all.map(exactNumber);
    const error = finite ? errorInUlps(answer, a, b, c) : '';
    byId('operation-sentence').textContent = sentence(answer, error);
    fill(byId('operation-picture'), ...(finite ? picture(answer, a, b, c) : []));
    byId('operation-picture').hidden = byId('operation-picture').textContent === '';
    const rounded = i => {
      const off = words[i].error_in_ulps;
      const note = off && Number(off) !== 0 ? `  (the number typed, rounded: ${off.slice(0, 8)} ulp)` : '';
      return `0x${words[i].hex} = ${words[i].shortest}${note}`;
    };
    fillFacts(byId('operation-facts'), [['a', rounded(0)], ['b', rounded(1)], ['c', op.value === 'fma' && rounded(2)],
      ['result', `0x${answer.result.hex} = ${answer.result.exact}`], ['flags', answer.flags.join(', ') || 'none']]);
  }

  fillSelect(format, tables.formats.map(row => [row.name, row.name]), 'fp16');
  fillSelect(rounding, tables.roundings.map(name => [name, name.replace('_', ' ')]), 'nearest_even');
  for (const input of [format, rounding, op]) input.addEventListener('change', show);
  for (const input of inputs) input.addEventListener('input', show);
  show();
});
