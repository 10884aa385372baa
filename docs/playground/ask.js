// Questions to softfloat (source/playground.cpp), and small helpers that every part of the page uses.
'use strict';

const byId = id => document.getElementById(id);

/** The answer to a question as an object; where there is none, an Error with softfloat's sentence. */
let ask = () => { throw new Error('softfloat is not loaded yet'); };

/** Runs each part of the page when softfloat is there. */
const parts = [];

function fill(element, ...children) {
  element.replaceChildren(...children);
  return element;
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Options of a select: [value, text] pairs. */
function fillSelect(select, choices, chosen) {
  fill(select, ...choices.map(([value, text]) => make('option', {value}, text)));
  select.value = chosen;
}

/** A list of terms and explanations; rows without a text are left out. */
function fillFacts(list, rows) {
  fill(list, ...rows.filter(row => row[1]).flatMap(([name, text]) => [make('dt', {}, name), make('dd', {}, text)]));
}

/** Shows what went wrong beside the inputs, and takes the old answer away; or the other way round. */
function showError(id, inputs, message) {
  byId(id).textContent = message;
  byId(id).closest('section').classList.toggle('failed', message !== '');
  for (const input of inputs) input.setAttribute('aria-invalid', message ? 'true' : 'false');
}

window.addEventListener('DOMContentLoaded', async () => {
  try {
    const softfloat = await load_softfloat();
    ask = (...fields) => {
      const answer = JSON.parse(softfloat.ccall('ulplab_ask', 'string', ['string'], [fields.join('\n')]));
      if (answer.error) throw new Error(answer.error);
      return answer;
    };
    const tables = ask('tables');
    for (const part of parts) part(tables);
    followAddress();
    byId('loading').hidden = true;
    document.dispatchEvent(new Event('ulplab-ready'));
  } catch (error) {
    byId('loading').textContent = 'softfloat could not be loaded: ' + error.message;
  }
});
