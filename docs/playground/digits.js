// Binary digits on a common grid of places, and exact arithmetic on them: a number is {sign, significand, exponent} with
// a BigInt significand, and stands for (-1)^sign * significand * 2^exponent.
'use strict';

function exactNumber(answer) {
  return {sign: answer.sign, significand: BigInt(answer.significand), exponent: answer.exponent};
}

const lengthOf = x => x === 0n ? 0 : x.toString(2).length;
const leadingPlace = x => x.exponent + lengthOf(x.significand) - 1;

/** The exact sum. */
function addExactly(x, y) {
  const exponent = Math.min(x.exponent, y.exponent);
  const signed = n => (n.significand << BigInt(n.exponent - exponent)) * (n.sign ? -1n : 1n);
  const sum = signed(x) + signed(y);
  return {sign: sum < 0n, significand: sum < 0n ? -sum : sum, exponent};
}

function multiplyExactly(x, y) {
  return {sign: x.sign !== y.sign, significand: x.significand * y.significand, exponent: x.exponent + y.exponent};
}

const negated = x => ({...x, sign: !x.sign});

/** significand * 2^exponent over numerator * 2^exponent as a decimal of a few digits, for errors in ulps. */
function quotientText(x, y, digits = 6) {
  if (x.significand === 0n) return '0';
  const shift = x.exponent - y.exponent;
  let above = x.significand * 10n ** BigInt(digits), below = y.significand;
  if (shift >= 0) above <<= BigInt(shift); else below <<= BigInt(-shift);
  const scaled = (2n * above + below) / (2n * below);
  const text = scaled.toString().padStart(digits + 1, '0');
  const value = (text.slice(0, -digits) + '.' + text.slice(-digits)).replace(/\.?0+$/, '');
  return (x.sign !== y.sign ? '-' : '') + (value === '0' ? 'less than 0.000001' : value);
}

/** The same number without zeros at the end of its significand. */
function shortened(x) {
  let {significand, exponent} = x;
  while (significand !== 0n && (significand & 1n) === 0n) { significand >>= 1n; ++exponent; }
  return {sign: x.sign, significand, exponent};
}

/**
 * A line of digits from place `top` down to `bottom`; below `bar` they are marked as cut. Returns nodes for a <pre>.
 * Left of the number's first digit stand dim zeros, right of its last one and of the bar nothing.
 */
function digitLine(x, top, bottom, bar) {
  const nodes = [];
  const push = (text, kind) => {
    const last = nodes[nodes.length - 1];
    if (last && last.className === kind) last.textContent += text; else nodes.push(make('span', {class: kind}, text));
  };
  const zero = x.significand === 0n;
  const end = zero ? top + 1 : Math.min(x.exponent, bar);   // the last place that is written
  push(zero ? '0' : x.sign ? '\u2212' : '+', 'kept');
  for (let place = top; place >= bottom; --place) {
    const at = place - x.exponent;
    const digit = at >= 0 && (x.significand >> BigInt(at) & 1n) ? '1' : '0';
    const kind = place < bar ? 'cut' : place > leadingPlace(x) ? 'dim' : 'kept';
    push(place >= end ? digit : ' ', place >= end ? kind : 'dim');
    if (place === 0 && bottom < 0) push(place >= end && end < 0 ? '.' : ' ', 'dim');
    if (place === bar) push('|', 'bar');
  }
  if (!zero && x.exponent < bottom) push('...', 'cut');
  return nodes;
}

/** Lines [{name, number, note}] under each other, cut below `bar`. Long tails are shortened. */
function digitPicture(lines, top, bar, longestTail = 16) {
  const numbers = lines.map(line => shortened(line.number));
  const lowest = Math.min(bar, ...numbers.filter(x => x.significand !== 0n).map(x => x.exponent));
  const bottom = Math.max(lowest, bar - longestTail);
  const width = Math.max(...lines.map(line => line.name.length));
  return lines.flatMap((line, i) => [make('span', {class: 'dim'}, line.name.padEnd(width) + '  '),
    ...digitLine(numbers[i], top, bottom, bar), line.note ? '  ' + line.note : '', '\n']);
}
