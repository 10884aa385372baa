#!/usr/bin/env python3
"""Asks axe-core of pages in Chromium, as the report's browser test opens them: light at a desk, dark on a phone.

Usage: accessibility.py CHROMIUM AXE_MIN_JS PAGE... Prints the violations and ends with 1 where there are any.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "experiments"))
from report_browser import DESK, PHONE, Browser  # noqa: E402

# Folded parts are opened first: axe does not look at what is hidden.
RUN = """(async () => {
  for (const e of document.querySelectorAll('details')) e.open = true;
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations.map(v => ({id: v.id, help: v.help, impact: v.impact, count: v.nodes.length,
      nodes: v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + n.html.slice(0, 120) + ' ' + (n.any[0] || n.all[0] || n.none[0] || {message: ''}).message)}));
})()"""


def main():
    program, axe, pages = sys.argv[1], pathlib.Path(sys.argv[2]).read_text(), [pathlib.Path(p).resolve() for p in sys.argv[3:]]
    browser = Browser(program)
    faults = {}
    for page in pages:
        for size, scheme in ((DESK, "light"), (PHONE, "dark")):
            browser.open(page.as_uri(), size, scheme)
            browser.ask(axe + "\n;0")
            for one in browser.ask(RUN):
                faults.setdefault((one["id"], one["help"]), []).append((page, size[0], scheme, one))
    browser.close()
    for (name, text), where in sorted(faults.items()):
        print(f"{name}: {text} ({sum(w[3]['count'] for w in where)} places)")
        for page, size, scheme, one in where[:int(os.environ.get("MOST", "4"))]:
            print(f"  {page.parent.name}/{page.name}, {size} pixels, {scheme}: {one['nodes'][:3]}")
    print(f"{len(pages)} pages, {sum(len(w) for w in faults.values())} faults")
    sys.exit(1 if faults or not pages else 0)


main()
