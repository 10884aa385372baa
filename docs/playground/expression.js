// Expressions such as 1/3, 0.1+0.2, pi and 2^-24, computed exactly: a value is a fraction of two integers.
'use strict';

/** pi and e to 110 digits: more than any format here distinguishes. */
const constants = {
  pi: '3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651',
  e: '2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138217852516642742746639193'};

const absolute = n => n < 0n ? -n : n;
function fraction(n, d = 1n) {
  if (d === 0n) throw new Error('a division by zero');
  let a = absolute(n), b = absolute(d);
  while (b) [a, b] = [b, a % b];
  const sign = d < 0n ? -1n : 1n;
  return a === 0n ? {n: 0n, d: 1n} : {n: sign * n / a, d: sign * d / a};
}
const plus = (x, y) => fraction(x.n * y.d + y.n * x.d, x.d * y.d);
const minus = (x, y) => plus(x, {n: -y.n, d: y.d});
const times = (x, y) => fraction(x.n * y.n, x.d * y.d);
const over = (x, y) => fraction(x.n * y.d, x.d * y.n);

function power(x, y) {
  if (y.d !== 1n) throw new Error('exponents must be integers');
  const size = absolute(y.n);
  if (size > 20000n || size * BigInt((absolute(x.n) + x.d).toString(2).length) > 200000n) {
    throw new Error('this power has too many digits');
  }
  return y.n < 0n ? fraction(x.d ** size, x.n ** size) : fraction(x.n ** size, x.d ** size);
}

/** 12, 0.1, 1.5e-3, 0x1.8p-10 */
function fractionOfNumber(text) {
  const hex = /^0x([0-9a-f]*)\.?([0-9a-f]*)(?:p([+-]?\d+))?$/i.exec(text);
  const decimal = /^(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
  const [, whole, part, exponent] = hex ?? decimal ?? [];
  if (!(whole || part)) throw new Error(`"${text}" is no number`);
  const digits = BigInt((hex ? '0x' : '') + whole + part);
  const tens = Number(exponent ?? 0) - (hex ? 4 : 1) * part.length;
  return times(fraction(digits), power(fraction(hex ? 2n : 10n), fraction(BigInt(tens))));
}

/** The exact value of an expression with + - * / ^, parentheses, pi and e. Throws an Error that names what is wrong. */
function evaluate(text) {
  const tokens = text.replace(/[\u2212\u2013]/g, '-').replace(/\u00d7/g, '*').replace(/\u03c0/g, 'pi')
    .match(/0x[0-9a-f.]+(?:p[+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[a-z]+|\*\*|[-+*\/^()]|\S/gi) ?? [];
  let at = 0;
  const take = () => tokens[at++];
  const next = (...wanted) => wanted.includes(tokens[at]);
  function atom() {
    const token = take();
    if (token === undefined) throw new Error('something is missing at the end');
    if (token === '(') {
      const inner = sum();
      if (take() !== ')') throw new Error('a parenthesis is not closed');
      return inner;
    }
    if (constants[token.toLowerCase()]) return fractionOfNumber(constants[token.toLowerCase()]);
    if (!/^[\d.]/.test(token)) throw new Error(`"${token}" is not understood; try 0.1, 1/3, 0.1+0.2, pi, 2^-24, 0x1.8p-10`);
    return fractionOfNumber(token);
  }
  function factor() {   // -2^2 is -4, 2^-24 and 2^3^2 as usual
    if (next('-')) { take(); return minus(fraction(0n), factor()); }
    if (next('+')) { take(); return factor(); }
    const base = atom();
    if (!next('^', '**')) return base;
    take();
    return power(base, factor());
  }
  function product() {
    let value = factor();
    while (next('*', '/')) value = take() === '*' ? times(value, factor()) : over(value, factor());
    return value;
  }
  function sum() {
    let value = product();
    while (next('+', '-')) value = take() === '+' ? plus(value, product()) : minus(value, product());
    return value;
  }
  const value = sum();
  if (at < tokens.length) throw new Error(`"${tokens[at]}" is not understood`);
  return value;
}

/**
 * A fraction as a decimal that rounds as the fraction does: all digits where they end, else 800 of them and a 1. No number
 * of a format here, and no middle between two of them, has more than 770 significant digits.
 */
function decimalOf(x, most = 800) {
  const size = absolute(x.n);
  let places = 0;
  let rest = x.d;
  const sign = x.n < 0n ? '-' : '';
  if (x.d === 1n) return sign + size;
  while (rest % 2n === 0n) { rest /= 2n; ++places; }
  let fives = 0;
  while (rest % 5n === 0n) { rest /= 5n; ++fives; }
  places = Math.max(places, fives);
  const exact = rest === 1n;
  const lead = Math.max(0, Math.ceil((x.d.toString(2).length - size.toString(2).length) * 0.302));
  if (!exact) places = lead + most;
  const scaled = size * 10n ** BigInt(places) / x.d;
  const digits = scaled.toString() + (exact ? '' : '1');
  return `${sign}${digits}e-${exact ? places : places + 1}`;
}

/** Whether softfloat reads the text by itself. */
const isPlain = text => /^[+-]?(inf(inity)?|nan|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|0x[0-9a-f]*\.?[0-9a-f]*(p[+-]?\d+)?)$/i.test(text) ||
  text.startsWith('bits:');

/** What to ask softfloat for a text that a user typed. */
const numberText = text => isPlain(text) ? text : decimalOf(evaluate(text));

/** The exact value of a typed text; null for infinities, NaN and storage words. */
function typedFraction(text) {
  try {
    return evaluate(text.trim());
  } catch {
    return null;
  }
}

/** A fraction with a few significant digits, for sentences. */
function shortText(x, digits = 6) {
  if (x.n === 0n) return '0';
  const size = absolute(x.n);
  let exponent = Math.floor((size.toString(2).length - x.d.toString(2).length) * 0.30103);
  const scaledBy = e => e >= 0 ? fraction(size, x.d * 10n ** BigInt(e)) : fraction(size * 10n ** BigInt(-e), x.d);
  while (scaledBy(exponent).n >= 10n * scaledBy(exponent).d) ++exponent;
  while (scaledBy(exponent).n < scaledBy(exponent).d) --exponent;
  const scaled = scaledBy(exponent);
  const rounded = (2n * scaled.n * 10n ** BigInt(digits - 1) + scaled.d) / (2n * scaled.d);
  return (x.n < 0n ? '-' : '') + String(Number(`${rounded}e${exponent - digits + 1}`));
}
