// The search of the site. `pages` stands before it: [address, page, section, text].
'use strict';
{
  const input = document.getElementById('words'), found = document.getElementById('found');
  const lower = pages.map(row => row.slice(1).map(text => text.toLowerCase()));

  // Every word must occur; a word in a title counts more than one in the text.
  const score = (row, words) => {
    let sum = 0;
    for (const word of words) {
      const best = row[0].includes(word) ? 6 : row[1].includes(word) ? 4 : row[2].includes(word) ? 1 : 0;
      if (best === 0) return 0;
      sum += best;
    }
    return sum;
  };

  const around = (text, word) => {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
    return (at > 0 ? '... ' : '') + text.slice(at, at + 180) + (text.length > at + 180 ? ' ...' : '');
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    history.replaceState(null, '', '#' + encodeURIComponent(input.value));
    const rows = words.length === 0 ? [] : lower.map((row, i) => [score(row, words), i]).filter(([points]) => points > 0);
    rows.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    found.replaceChildren(...rows.slice(0, 40).map(([, i]) => {
      const [address, page, section, text] = pages[i];
      const item = document.createElement('li'), link = document.createElement('a');
      link.href = address;
      link.textContent = section && section !== page ? page + ': ' + section : page;
      item.append(link, document.createElement('br'), around(text, words[0]));
      return item;
    }));
    if (words.length > 0 && rows.length === 0) found.textContent = 'No page has all these words.';
  };
  input.addEventListener('input', show);
  input.value = decodeURIComponent(location.hash.slice(1));
  show();
}
