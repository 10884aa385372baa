// The state of each part of the page as an address: #number?format=fp16&text=0.1
'use strict';

/** The fields of a part that its address holds, and what shows them. */
const linked = new Map();

/** `fields` maps the address's names to inputs; `show` draws the part from its inputs, `extra` are further [get, set]. */
function addPermalink(part, fields, show, extra = {}) {
  linked.set(part, {fields, show, extra});
  const link = byId(part + '-link');
  const state = () => {
    const query = new URLSearchParams();
    for (const [name, input] of Object.entries(fields)) query.set(name, input.value);
    for (const [name, [get]] of Object.entries(extra)) query.set(name, get());
    return `#${part}?${query}`;
  };
  let pending = 0;   // browsers limit how often an address may change
  const update = () => {
    clearTimeout(pending);
    pending = 0;
    link.href = state();
    history.replaceState(null, '', link.href);
  };
  link.href = state();
  for (const kind of ['input', 'change', 'click', 'keydown']) byId(part).addEventListener(kind, event => {
    if (event.target !== link && !pending) pending = setTimeout(update, 100);
  });
  link.addEventListener('click', async event => {
    event.preventDefault();
    update();
    try {
      await navigator.clipboard.writeText(location.href);
      link.textContent = 'copied';
    } catch {
      link.textContent = 'in the address bar';
    }
    setTimeout(() => { link.textContent = 'link to this'; }, 2000);
  });
}

/** Puts the state of the address into the page. What it does not name, or names wrongly, stays. */
function followAddress() {
  const [part, query] = location.hash.slice(1).split('?');
  const row = linked.get(part);
  if (!row || query === undefined) return;
  const values = new URLSearchParams(query);
  for (const [name, input] of Object.entries(row.fields)) {
    if (!values.has(name)) continue;
    const known = input.tagName !== 'SELECT' || [...input.options].some(option => option.value === values.get(name));
    if (known) input.value = values.get(name);
  }
  row.show();
  for (const [name, [, set]] of Object.entries(row.extra)) if (values.has(name)) set(values.get(name));
  byId(part + '-link').href = location.hash;
  byId(part).scrollIntoView();
}
window.addEventListener('hashchange', followAddress);
