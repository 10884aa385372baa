// Predictions in lessons: the output below stays covered until a reader has answered or asks for it. Answers are kept in
// this browser alone.
'use strict';
{
  const plain = text => text.trim().toLowerCase().replace(/\s+/g, ' ').replace(/^infinity$/, 'inf');
  const same = (a, b) => plain(a) === plain(b) || (plain(a) !== '' && Number(a) === Number(b));
  // 2^-24 with a raised -24.
  const raised = text => text.split(/\^(-?\d+)/).map(
      (part, i) => i % 2 ? Object.assign(document.createElement('sup'), {textContent: part}) : part);
  const keyOf = form => 'ulplab ' + document.title + ': ' + form.dataset.question;

  const groups = new Map();   // the element that is covered, and the questions before it
  for (const form of document.querySelectorAll('form.predict')) {
    let covered = form.nextElementSibling;
    while (covered && covered.matches('form.predict')) covered = covered.nextElementSibling;
    groups.set(covered, [...(groups.get(covered) || []), form]);
  }

  for (const [covered, forms] of groups) {
    const uncover = () => { if (covered) covered.hidden = false; };
    for (const form of forms) {
      const [field, say] = [form.querySelector('input, select'), form.querySelector('output')];
      const judge = () => {
        const right = same(field.value, form.dataset.answer);
        say.replaceChildren(...right ? ['Right.'] : ['Not so: ', ...raised(form.dataset.answer), '. The output shows why.']);
        form.classList.toggle('right', right);
        form.classList.toggle('wrong', !right);
        form.classList.add('answered');
        if (forms.every(each => each.classList.contains('answered'))) uncover();
      };
      let kept = null;
      try { kept = localStorage.getItem(keyOf(form)); } catch { /* a browser that keeps nothing */ }
      form.addEventListener('submit', event => {
        event.preventDefault();
        if (plain(field.value) === '') return field.focus();
        try { localStorage.setItem(keyOf(form), field.value); } catch { /* the same */ }
        judge();
      });
      if (covered) covered.hidden = true;
      form.querySelector('button.show').addEventListener('click', uncover);
      if (kept !== null) field.value = kept;
    }
    for (const form of forms) {
      try { if (localStorage.getItem(keyOf(form)) !== null) form.requestSubmit(); } catch { /* the same */ }
    }
  }
}
