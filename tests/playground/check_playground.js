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

/** The lines of `ulplab dev testfloat` that the page answers otherwise. */
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
    const [model, a, b, c, scales, result] = row.split('|');
    const mine = ask('block', model, a, b, c, ...(scales + ';').split(';')).result;
    equal(model.includes('.s32') ? mine.decimal : mine.hex, result, row);
    check(result !== '', 'no native answer: ' + row);
  }
  done.push(`${rows.length} dot products`);
}

/** A click where a finger would land: what lies at the middle of the element must be the element, and not be disabled. */
function press(node) {
  node.scrollIntoView({block: 'center', behavior: 'instant'});
  const box = node.getBoundingClientRect();
  const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  check(hit && (hit === node || node.contains(hit)), `a click on ${node.id || node.textContent} lands on ${hit?.id || hit?.tagName}`);
  hit?.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, view: window}));
}
const type = (id, text) => { byId(id).value = text; byId(id).dispatchEvent(new Event('input')); };
const choose = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event('change')); };
const fact = (id, name) => [...byId(id).children].find(node => node.textContent === name)?.nextSibling.textContent;
const bitButton = place => byId('number-bits').querySelector(`[data-place="${place}"]`);

function useNumber() {
  equal(fact('number-facts', 'storage word'), '0x2E66', 'what 0.1 becomes');
  press(bitButton(0));
  equal(fact('number-facts', 'storage word'), '0xAE66', 'the sign bit flipped');
  equal(document.activeElement, bitButton(0), 'the focus stays on the flipped bit');
  bitButton(0).dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
  equal(document.activeElement, bitButton(1), 'the arrow key goes to the next bit');
  press(byId('number-above'));
  equal(fact('number-facts', 'storage word'), '0xAE65', 'the next above');
  press(byId('number-below'));
  equal(fact('number-facts', 'storage word'), '0xAE66', 'and below it the first one');
  press(byId('number-negate'));
  equal(fact('number-facts', 'storage word'), '0x2E66', 'the sign changed');
  for (const place of [...Array(16).keys()]) {
    press(bitButton(place));
    equal(fact('number-facts', 'storage word'), '0x' + (0x2E66 ^ 0x8000 >> place).toString(16).toUpperCase().padStart(4, '0'),
      'bit ' + place);
    press(bitButton(place));
  }
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
    press(byId('block-next'));
  }
  equal(steps.length, 9, 'steps of two groups');
  equal(byId('block-picture').querySelectorAll('.cut').length, 0, 'nothing is cut in the last step');
  press(byId('block-back'));
  byId('block-picture').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));
  choose('block-example', '0');
  press(byId('block-next'));
  press(byId('block-next'));
  equal(byId('block-picture').querySelectorAll('.cut').length, 4, 'four terms are cut on Ampere');
  check(byId('block-result').textContent.includes('0x3F800000'), 'Ampere answers 1');
  choose('block-model', 'sm_90:mma.fp16.fp32');
  check(byId('block-result').textContent.includes('0x3F800001'), 'Hopper keeps them');
  for (const option of byId('block-example').options) {
    choose('block-example', option.value);
    equal(byId('block-error').textContent, '', 'example ' + option.textContent);
  }
  for (const [name, text] of [['a', '1, 1'], ['b', '1, 1'], ['c', '0']]) type('block-' + name, text);   // of every unit
  for (const option of byId('block-model').options) {
    choose('block-model', option.value);
    if (!byId('block-last').disabled) press(byId('block-last'));
    equal(byId('block-error').textContent, '', option.value);
    check(byId('block-picture').textContent !== '', 'a picture of ' + option.value);
  }
  check(byId('block-model').options.length > 400, 'every row of the table');
  choose('block-model', 'x86:vdpbf16ps.bf16.fp32');
  for (const [name, text] of [['a', '1, 2^-8, 2^-30'], ['b', '1, 1, 1'], ['c', '0']]) type('block-' + name, text);
  press(byId('block-last'));
  check(/line (\d+) of \1$/.test(byId('block-where').textContent), 'a unit that does not align, line by line');
  equal(byId('block-picture').textContent.match(/fma\(/g).length, 4, 'each of its operations');
  type('block-a', '1, x');
  check(byId('block-error').textContent !== '', 'a wrong operand is refused');
}

/** Scales, integers and fp64: the other kinds of rows. */
function useOtherUnits() {
  const example = text => {
    const option = [...byId('block-example').options].find(each => each.textContent.startsWith(text));
    choose('block-example', option.value);
  };
  example('MXFP8');
  check(byId('block-a-scales').offsetParent !== null, 'fields for scales');
  check(byId('block-a-scales').closest('label').textContent.includes('one per 32 products'), 'and how many there are');
  check(byId('block-picture').textContent.includes('1.5 \u00d7 2 \u00d7 scales 2^3 \u00d7 2^-20'), 'factors with their scales');
  press(byId('block-next'));
  press(byId('block-next'));
  check(byId('block-where').textContent.includes('align and cut'), 'scaled terms are aligned');
  type('block-a-scales', '8, 1');
  check(byId('block-error').textContent.includes('one scale for 32 products'), 'a scale too many');
  type('block-a-scales', '3');
  check(byId('block-error').textContent.includes('3 is not a scale'), 'three is no power of two');
  type('block-a-scales', '2^-20');
  equal(byId('block-error').textContent, '', 'an expression as a scale');
  example('MXFP4');
  check(byId('block-caption').textContent.includes('adds 16 products at a time'), 'sixteen products are one term');
  example('NVFP4');
  check(byId('block-picture').textContent.includes('scales 1.125 \u00d7 0.125'), 'scales with fraction bits');
  example('Bytes');
  press(byId('block-last'));
  check(byId('block-picture').textContent.includes('wraps to'), 'a sum beyond 32 bits');
  check(byId('block-a-scales').offsetParent === null, 'no fields for scales');
  type('block-a', '128');
  check(byId('block-error').textContent.includes('from -128 to 127'), 'a byte too large');
  example('fp64');
  press(byId('block-next'));
  check(byId('block-where').textContent.includes('line 2 of'), 'fp64, line by line');
}

const shownText = id => { const node = byId(id); return node.offsetParent === null ? '' : node.textContent; };

function useExpressions() {
  const word = text => { type('number-text', text); return fact('number-facts', 'storage word'); };
  choose('number-format', 'fp64');
  equal(word('1/3'), '0x3FD5555555555555', '1/3');
  equal(word('0.1+0.2'), '0x3FD3333333333333', '0.1 + 0.2, exactly and rounded once');
  equal(word('pi'), '0x400921FB54442D18', 'pi');
  equal(word('e^2'), '0x401D8E64B8D4DDAE', 'e^2');
  equal(word('2^-1074'), '0x0000000000000001', 'the smallest number');
  equal(word('2^-1075'), '0x0000000000000000', 'half of it: a tie');
  equal(word('2^-1075 + 1/3^2000'), '0x0000000000000001', 'a hair more than the tie');
  equal(word('-(1 + 2) * 0x1.8p1 / 4'), '0xC002000000000000', 'parentheses and a hexadecimal float');
  equal(word('-2^2'), '0xC010000000000000', 'the power before the sign');
  for (const wrong of ['1/0', '2^0.5', '(1', '1 +', 'walrus', '2^99999', '1 2']) {
    type('number-text', wrong);
    check(byId('number-error').textContent !== '', wrong + ' is refused');
    equal(shownText('number-formula'), '', 'the old answer goes with ' + wrong);
  }
  choose('number-format', 'fp16');
  equal(word('0.1'), '0x2E66', '0.1 again');
  check(shownText('number-formula') !== '', 'the answer is back');
}

function useSliders() {
  type('number-exponent', '16');
  equal(fact('number-facts', 'storage word'), '0x4266', 'the exponent moved by the slider');
  type('number-fraction-field', '0');
  equal(fact('number-facts', 'value'), '2', 'the fraction typed');
  equal(byId('number-fraction').value, '0', 'the slider follows');
  type('number-fraction-field', '1024');
  equal(fact('number-facts', 'value'), '2', 'a fraction beyond the field changes nothing');
}

function usePictures() {
  const set = (op, a, b, c = '0') => {
    choose('operation-op', op);
    for (const [name, text] of [['a', a], ['b', b], ['c', c]]) type('operation-' + name, text);
    return shownText('operation-sentence') + ' | ' + shownText('operation-picture');
  };
  check(set('subtract', '1.001', '1').includes('2.34 % off'), 'cancellation tells the error of what was typed');
  check(!set('subtract', '1.5', '1').includes('% off'), 'exact operands have none');
  check(/largest.*65504/.test(set('add', '60000', '60000')), 'a picture of overflow');
  check(/exact.*1010101010.*and so on/.test(set('divide', '1', '3')), 'a picture of a division');
  check(/rounded \+ c/.test(set('fma', '1.001', '1.001', '-1.002')), 'a picture of both ways to multiply and add');
  set('add', '2048', 'nonsense');
  equal(shownText('operation-sentence'), '', 'no old answer beside an error');
  check(set('divide', '1', '0').includes('inf'), 'a division by zero');
  choose('operation-format', 'e4m3');
  check(set('multiply', '400', '2').includes('448'), 'overflow in a format without infinity');
  choose('operation-format', 'fp16');
}

function usePermalinks() {
  location.hash = '#operation?format=bf16&rounding=nearest_even&op=add&a=256&b=1&c=0';
  followAddress();
  check(byId('operation-sentence').textContent.includes('256 + 1 gives 256'), 'the address sets the page');
  equal(byId('operation-format').value, 'bf16', 'and its format');
  location.hash = '#block?model=sm_90%3Amma.fp16.fp32&a=1%2C2%5E-12&b=1%2C2%5E-13&c=0&step=3';
  followAddress();
  check(byId('block-where').textContent.includes('step 3 of 5'), 'the step is part of the address');
  equal(byId('block-model').value, 'sm_90:mma.fp16.fp32', 'the unit');
  location.hash = '#block?model=sm_100%3Atcgen05.nvf4.e2m1.fp32&a=6&b=6&c=0&a_scales=448&b_scales=0.125&step=2';
  followAddress();
  check(byId('block-result').textContent.includes('= 2016.'), 'scales are part of the address');
  equal(byId('block-example').value, '', 'no example is named for another dot product');
  location.hash = '#number?format=nonsense&text=2';
  followAddress();
  equal(byId('number-format').value, 'fp16', 'a wrong format changes nothing');
  equal(fact('number-facts', 'value'), '2', 'the rest does');
}

/** After a click the address is that of the new state. */
async function checkAddress() {
  const settled = () => new Promise(resolve => setTimeout(resolve, 300));
  await settled();
  type('number-text', '1');
  press(byId('number-above'));
  await settled();
  equal(location.hash, '#number?format=fp16&rounding=nearest_even&text=bits%3A3C01', 'the address after a click');
  equal(new URL(byId('number-link').href).hash, location.hash, 'the link to this state');
  for (const part of ['number', 'operation', 'block']) {
    press(byId(part + '-link'));
    await settled();
    check(location.hash.startsWith(`#${part}?`), 'a click on a link puts its state into the address');
  }
  for (const link of document.querySelectorAll('nav a')) {
    press(link);
    check(document.querySelector(link.getAttribute('href')) !== null, 'a part of the page: ' + link.textContent);
  }
}

/** Buttons and fields that a finger would miss, on a page of 400 pixels; and parts that reach beyond it. */
function checkPhone() {
  document.body.style.maxWidth = '400px';
  document.body.style.margin = '0';
  window.dispatchEvent(new Event('resize'));
  const small = [...document.querySelectorAll('main button, main select, main input:not([type=range])')].filter(node =>
    node.offsetParent !== null && (node.getBoundingClientRect().height < 40 || node.getBoundingClientRect().width < 40));
  equal(small.map(node => node.id || node.textContent).join(' '), '', 'buttons smaller than 40 pixels');
  const beyond = [...document.querySelectorAll('main *, header *')].filter(node => !node.closest('pre') &&
    node.offsetParent !== null && node.getBoundingClientRect().right > 401);
  equal(beyond.map(node => node.id || node.tagName).slice(0, 5).join(' '), '', 'parts beyond 400 pixels');
}

/** Parts of the page that reach beyond the window, but for those in boxes that scroll. */
function tooWide() {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll('main *, header *')].filter(node => !node.closest('.scroll') &&
    node.getBoundingClientRect().right > width).map(node => node.id || node.tagName).join(' ');
}

document.addEventListener('ulplab-ready', async () => {
  try {
    for (const part of [useNumber, useOperation, useBlock, useOtherUnits, useExpressions, useSliders, usePictures, usePermalinks]) part();
    await checkAddress();
    checkPhone();
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
