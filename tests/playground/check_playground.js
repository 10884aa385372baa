// Runs inside the playground (check_playground.sh): compares its answers with the native program's, then uses the page as
// a hand would, and writes a verdict.
'use strict';

const complaints = [];
const done = [];
const check = (right, what) => { if (!right) complaints.push(what); };
const equal = (have, want, what) => check(have === want, `${what}: "${have}" is not "${want}"`);

const lines = text => text.trimEnd().split('\n').map(line => line.trimEnd());

/** A row of `ulplab codes`, from the page's own answer. */
function rowOf(format, hex) {
  const it = ask('describe', format, 'nearest_even', 'bits:' + hex);
  return [it.hex, it.fields, it.class, it.shortest, it.value, it.hex_float, it.below_hex ?? '', it.above_hex ?? '',
    it.ulp_exponent ?? ''].join('\t');
}

/** How many rows of the native table the page answers otherwise; the first one is kept. */
function differingCodes(format, rows) {
  let count = 0, first = '';
  for (const row of rows) {
    const mine = rowOf(format, row.split('\t')[0]).trimEnd();
    if (mine !== row && ++count === 1) first = `${mine} is not ${row}`;
  }
  return {count, first};
}

function compareCodes(format, table) {
  const rows = lines(table).slice(1);
  const {count, first} = differingCodes(format, rows);
  check(count === 0, `${format}: ${count} codes differ, first ${first}`);
  const changed = rows.slice(100, 110);
  changed[3] = changed[3].replace('normal', 'odd').replace('sub', '');
  equal(differingCodes(format, changed).count, 1, 'a changed row of ' + format);
  done.push(`${rows.length} codes of ${format}`);
}

const flagBits = {inexact: 1, underflow: 2, overflow: 4, 'divide by zero': 8, invalid: 16};

/** The lines of `ulplab testfloat` that the page answers otherwise. */
function differingOperations(rows) {
  return rows.filter(row => {
    const [op, rounding, ...words] = row.split(' ');
    const flags = parseInt(words.pop(), 16), result = words.pop();
    const mine = ask('operate', op, 'fp16', rounding, ...words);
    return mine.result.hex !== result || mine.flags.reduce((sum, name) => sum + flagBits[name], 0) !== flags;
  });
}

function compareOperations() {
  const rows = lines(native_operations);
  equal(differingOperations(rows).slice(0, 10).join('; '), '', 'operations');
  const changed = rows.slice(0, 10).map((row, i) => i === 4 ? row.slice(0, -1) + '9' : row);
  equal(differingOperations(changed).length, 1, 'a changed operation');
  done.push(`${rows.length} operations`);
}

function compareBlocks() {
  const rows = lines(native_blocks);
  for (const row of rows) {
    const [model, a, b, c, result] = row.split('|');
    equal(ask('block', model, a, b, c).result.hex, result, row);
    check(result.length >= 4, 'no native answer: ' + row);
  }
  done.push(`${rows.length} dot products`);
}

const type = (id, text) => { byId(id).value = text; byId(id).dispatchEvent(new Event('input')); };
const choose = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event('change')); };
const fact = (id, name) => [...byId(id).children].find(node => node.textContent === name)?.nextSibling.textContent;
const bitButton = place => byId('number-bits').querySelector(`[data-place="${place}"]`);

function useNumber() {
  equal(fact('number-facts', 'storage word'), '0x2E66', 'what 0.1 becomes');
  bitButton(0).click();
  equal(fact('number-facts', 'storage word'), '0xAE66', 'the sign bit flipped');
  equal(document.activeElement, bitButton(0), 'the focus stays on the flipped bit');
  bitButton(0).dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
  equal(document.activeElement, bitButton(1), 'the arrow key goes to the next bit');
  byId('number-above').click();
  equal(fact('number-facts', 'storage word'), '0xAE65', 'the next above');
  type('number-text', '65519.999');
  equal(fact('number-facts', 'value'), '65504', '65519.999 rounded');
  type('number-text', 'walrus');
  check(byId('number-error').textContent.includes('walrus'), 'nonsense is refused with a sentence');
  equal(byId('number-text').getAttribute('aria-invalid'), 'true', 'the field is marked');
  type('number-text', '1e-7');
  equal(byId('number-error').textContent, '', 'the complaint goes');
  equal(fact('number-facts', 'class'), 'subnormal', '1e-7');
  choose('number-format', 'tf32');
  equal(byId('number-bits').querySelectorAll('button').length, 19, 'tf32 has 19 bits');
  choose('number-format', 'e8m0');
  check(byId('number-negate').disabled, 'e8m0 has no sign');
  choose('number-format', 'fp16');
  equal(byId('number-table').rows.length, byId('number-format').options.length + 1, 'a row for every format');
}

function useOperation() {
  check(byId('operation-sentence').textContent.includes('an error of -0.5 ulp'), '2048 + 1 in fp16');
  check(byId('operation-sentence').textContent.includes('swamped'), '1 is swamped by 2048');
  choose('operation-op', 'fma');
  for (const [name, text] of [['a', '1.001'], ['b', '1.001'], ['c', '-1.002']]) type('operation-' + name, text);
  check(byId('operation-sentence').textContent.includes('would give 0'), 'a fused product keeps what rounding loses');
  check(!byId('operation-c-label').hidden, 'c is asked for');
}

function useBlock() {
  const steps = [];
  while (!byId('block-next').disabled && steps.length < 100) {
    steps.push(byId('block-picture').textContent);
    byId('block-next').click();
  }
  equal(steps.length, 9, 'steps of two groups');
  equal(byId('block-picture').querySelectorAll('.cut').length, 0, 'nothing is cut in the last step');
  byId('block-back').click();
  byId('block-picture').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));
  choose('block-example', '0');
  byId('block-next').click();
  byId('block-next').click();
  equal(byId('block-picture').querySelectorAll('.cut').length, 4, 'four terms are cut on Ampere');
  check(byId('block-result').textContent.includes('0x3F800000'), 'Ampere answers 1');
  choose('block-model', 'sm_90:mma.fp16.fp32');
  check(byId('block-result').textContent.includes('0x3F800001'), 'Hopper keeps them');
  for (const option of byId('block-example').options) {
    choose('block-example', option.value);
    equal(byId('block-error').textContent, '', 'example ' + option.textContent);
  }
  for (const option of byId('block-model').options) {
    choose('block-model', option.value);
    byId('block-last').click();
    equal(byId('block-error').textContent, '', option.value);
  }
  type('block-a', '1, x');
  check(byId('block-error').textContent !== '', 'a wrong operand is refused');
}

/** Parts of the page that reach beyond the window, but for those in boxes that scroll. */
function tooWide() {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll('main *, header *')].filter(node => !node.closest('.scroll') &&
    node.getBoundingClientRect().right > width).map(node => node.id || node.tagName).join(' ');
}

document.addEventListener('ulplab-ready', () => {
  try {
    for (const part of [useNumber, useOperation, useBlock]) part();
    done.push('the page by hand');
    equal(tooWide(), '', 'parts beyond the right edge of a narrow window');
    compareBlocks();
    compareOperations();
    compareCodes('e4m3', native_e4m3);
    compareCodes('fp16', native_fp16);
    check(lines(native_fp16).length === 65537, 'all halves');
  } catch (error) {
    complaints.push('stopped: ' + error.message + ' ' + error.stack);
  }
  byId('verdict').textContent = complaints.length === 0 ? 'all is right: ' + done.join(', ')
    : complaints.slice(0, 20).join('\n');
});
