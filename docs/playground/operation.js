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

  /** The quotient's digits down to place `bottom`, and whether there are more. */
  function quotient(a, b, bottom) {
    const shift = a.exponent - b.exponent - bottom;
    const above = shift >= 0 ? a.significand << BigInt(shift) : a.significand;
    const below = shift >= 0 ? b.significand : b.significand << BigInt(-shift);
    return {number: {sign: a.sign !== b.sign, significand: above / below, exponent: bottom}, more: above % below !== 0n};
  }

  function rowsOf(answer, a, b, c, bar) {
    if (op.value === 'divide') {
      const {number, more} = quotient(a, b, bar - 20);
      return [{name: 'exact', number, note: more ? 'and so on' : ''}];
    }
    const rows = op.value === 'multiply' ? [] : terms(a, b, c).map(([name, number]) => ({name, number}));
    rows.push({name: 'exact', number: exactResult(a, b, c)});
    return rows;
  }

  function picture(answer, a, b, c) {
    const bar = answer.result.exponent;
    const rows = rowsOf(answer, a, b, c, bar);
    rows.push({name: 'result', number: exactNumber(answer.result)});
    if (op.value === 'fma' && answer.product.finite && answer.unfused.finite) {
      rows.push({name: 'a \u00d7 b, rounded', number: exactNumber(answer.product)},
        {name: 'rounded + c', number: exactNumber(answer.unfused)});
    }
    const present = rows.map(row => row.number).filter(x => x.significand !== 0n);
    if (present.length === 0) return [];
    return digitPicture(rows, Math.max(...present.map(leadingPlace)), bar, 26);
  }

  /** A finite result that the format cannot hold, beside the largest number that it can. */
  function overflowPicture(a, b, c) {
    const largest = ask('describe', format.value, 'toward_zero', '1e400');
    const top = ask('operate', 'add', format.value, 'toward_zero', largest.hex, largest.hex).a;
    const bar = top.exponent;
    const rows = rowsOf(null, a, b, c, bar);
    rows.push({name: 'largest', number: exactNumber(top), note: largest.shortest});
    return digitPicture(rows, Math.max(...rows.map(row => leadingPlace(row.number))), bar, 12);
  }

  /** The exact result of the numbers as they were typed, and how far the answer lies from it. */
  function honest(answer) {
    const typed = inputs.map(input => typedFraction(input.value));
    const [x, y, z] = typed;
    if (!x || !y || (op.value === 'fma' && !z) || (op.value === 'divide' && y.n === 0n)) return null;
    const exact = {add: () => plus(x, y), subtract: () => minus(x, y), multiply: () => times(x, y), divide: () => over(x, y),
      fma: () => plus(times(x, y), z)}[op.value]();
    if (!answer.result.finite) return {exact};
    const {sign, significand, exponent} = exactNumber(answer.result);
    const given = times(fraction(sign ? -significand : significand), power(fraction(2n), fraction(BigInt(exponent))));
    const off = minus(given, exact);
    return {exact, off, relative: exact.n === 0n ? null : over(fraction(absolute(off.n), off.d), fraction(absolute(exact.n), exact.d))};
  }

  function sentence(answer, error) {
    const text = x => x.decimal;
    const expression = op.value === 'fma' ? `${text(answer.a)} \u00d7 ${text(answer.b)} + ${text(answer.c)}`
      : `${text(answer.a)} ${signs[op.value]} ${text(answer.b)}`;
    let line = `${expression} gives ${text(answer.result)}`;
    if (error === '0') line += ', exactly.';
    else if (error) line += `, an error of ${error} ulp.`;
    else line += '.';
    const truth = honest(answer);
    const operandsRounded = truth?.off && truth.off.n !== 0n && error === '0';
    if (operandsRounded) {
      line = line.replace(', exactly.', ': the operation is exact, of the rounded operands.') +
        ` Of the numbers typed the result is ${shortText(truth.exact)}` +
        (truth.relative ? `; what is shown is ${shortText(times(truth.relative, fraction(100n)), 3)} % off.` : '.');
      const cancels = op.value === 'add' || op.value === 'subtract';
      if (cancels && truth.relative && truth.relative.n * 1000n > truth.relative.d) {
        line += ' The digits that agreed have cancelled, and what was rounded before is now in front.';
      }
    }
    if (answer.flags.includes('overflow') && truth) {
      line += ` The exact result, ${shortText(truth.exact)}, is beyond the format's range.`;
    }
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
    let wrong = '';
    for (const input of inputs) {
      let message = '';
      try {
        words.push(ask('describe', format.value, rounding.value, numberText(input.value.trim())));
      } catch (error) {
        message = error.message;
      }
      input.setAttribute('aria-invalid', message ? 'true' : 'false');
      if (message && (op.value === 'fma' || input !== inputs[2])) wrong = wrong || message;
    }
    showError('operation-error', [], wrong);
    if (wrong || words.length < (op.value === 'fma' ? 3 : 2)) return;
    while (words.length < 3) words.push(words[0]);
    const answer = ask('operate', op.value, format.value, rounding.value, ...words.map(word => word.hex));
    const all = [answer.a, answer.b, answer.c ?? answer.b, answer.result];
    const finite = all.every(x => x.finite) && !(op.value === 'divide' && answer.b.significand === '0');
    const [a, b, c] = all.map(exactNumber);
    const error = finite ? errorInUlps(answer, a, b, c) : '';
    byId('operation-sentence').textContent = sentence(answer, error);
    const overflow = !finite && answer.flags.includes('overflow') && all.slice(0, 3).every(x => x.finite);
    fill(byId('operation-picture'), ...(finite ? picture(answer, a, b, c) : overflow ? overflowPicture(a, b, c) : []));
    byId('operation-picture').hidden = byId('operation-picture').textContent === '';
    const rounded = i => {
      const off = words[i].error_in_ulps;
      const note = off && Number(off) !== 0 ? `  (the number typed, rounded: ${off.slice(0, 8)} ulp)` : '';
      return `0x${words[i].hex} = ${words[i].shortest}${note}`;
    };
    fillFacts(byId('operation-facts'), [['a', rounded(0)], ['b', rounded(1)], ['c', op.value === 'fma' && rounded(2)],
      ['result', `0x${answer.result.hex} = ${answer.result.exact}`], ['of the numbers typed', honest(answer) && shortText(honest(answer).exact, 12)],
      ['flags', answer.flags.join(', ') || 'none']]);
  }

  fillSelect(format, tables.formats.map(row => [row.name, row.name]), 'fp16');
  fillSelect(rounding, tables.roundings.map(name => [name, name.replace('_', ' ')]), 'nearest_even');
  for (const input of [format, rounding, op]) input.addEventListener('change', show);
  for (const input of inputs) input.addEventListener('input', show);
  show();
  addPermalink('operation', {format, rounding, op, a: inputs[0], b: inputs[1], c: inputs[2]}, show);
});
