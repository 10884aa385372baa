#!/usr/bin/env python3
"""Opens every page of a report in Chromium, as a reader would: at a desk and on a phone, light and dark.

No console message, nothing wider than the phone, no chapter longer than its screens, no label too small, no sentence said
again and again, all pictures shown, and figures that have
their labels and answer: values under the pointer, series switched off, zoom and back. Without network and without packages of
Python: over Chromium's debugging pipe. Usage: report_browser.py CHROMIUM FOLDER [PAGES [SCREENSHOTS]]
"""
import base64
import html
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DESK, PHONE, SMALL = (1440, 900), (400, 800), (320, 640)
MOST_SCREENS = {DESK: 6, PHONE: 10}  # of a chapter as it opens
LEAST_LABEL = 12    # pixels, as shown
MOST_REPEATED = 3   # times a long sentence
LISTS = ("report-register", "report-sources")


class Browser:
    """One tab of a headless Chromium."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp()
        to_read, self.to = os.pipe()
        self.of, to_write = os.pipe()

        def files():  # Chromium reads commands from file 3 and answers in file 4
            os.dup2(to_read, 13)
            os.dup2(to_write, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=files, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.waiting, self.events, self.session = 0, b"", [], None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.waiting:
            more = os.read(self.of, 1 << 20)
            if not more:
                sys.exit("Chromium ended")
            self.waiting += more
        text, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, address, size, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1,
                  mobile=size != DESK)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events = []
        self.call("Page.navigate", url=address)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive())

    def ask(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def messages(self):
        for event in self.events:
            if event.get("method") == "Log.entryAdded":
                yield event["params"]["entry"]["text"]
            elif event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                yield json.dumps(event["params"])[:300]

    def mouse(self, kind, x, y, buttons=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if buttons or kind == "mouseReleased"
                  else "none", buttons=buttons, clickCount=0 if kind == "mouseMoved" else 1)

    def picture(self, path, height=None):
        clip = {"clip": {"x": 0, "y": 0, "width": self.ask("innerWidth"), "height": height, "scale": 1}} if height else {}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=bool(height), **clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


# Every picture in a drawing, shown by itself: the policy or a damaged file refuses it.
BAD_PICTURES = """Promise.all([...document.querySelectorAll('svg image')].map(image => new Promise(done => {
  const one = new Image();
  one.onload = () => done(0);
  one.onerror = () => done(1);
  one.src = image.getAttribute('href') || image.getAttribute('xlink:href');
}))).then(all => all.reduce((a, b) => a + b, 0))"""
# What reaches beyond the window without a box of its own that scrolls.
TOO_WIDE = """document.documentElement.scrollWidth <= innerWidth ? '' : [...document.querySelectorAll('body *')]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.drawing'))
  .slice(0, 3).map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40)).join(' | ') || 'something'"""
# The smallest letters of a drawing that is shown, as seen; exponents are smaller than the text that they stand in.
SMALLEST = """Math.min(99, ...[...document.querySelectorAll('.drawing svg, svg.chart')].filter(svg => svg.checkVisibility())
  .flatMap(svg => [...svg.querySelectorAll('text')].filter(text => text.textContent.trim())
    .map(text => parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a)))"""
# Sentences of at least 60 letters by how often a page says them, folded parts included.
REPEATED = """(() => {
  const count = {};
  for (const e of document.querySelectorAll('p, li, h2, figcaption, summary')) {
    if (e.querySelector('p, li, summary') || e.className === 'source') continue;
    for (const one of e.textContent.split(/(?<=[.!?])\\s+/)) if (one.length >= 60) count[one] = (count[one] || 0) + 1;
  }
  return Object.entries(count).sort((a, b) => b[1] - a[1])[0] || ['', 0];
})()"""
# The figure in the middle of the window, and where a curve's points are there.
PLACE = """(() => {{
  const figure = document.querySelectorAll('figure.answers')[{0}];
  for (let e = figure.parentElement; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  const svg = figure.querySelector('svg');
  if (!svg) return {{id: figure.id, buttons: 0}};
  svg.scrollIntoView({{block: 'center', behavior: 'instant'}});
  const curves = [...svg.querySelectorAll('g[id*="gnuplot_plot_"]')];
  const seen = (x, y) => {{ const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()); return [p.x, p.y]; }};
  const first = (list, text) => [...list].slice(0, 9).flatMap(e => (text(e).match(/-?[\d.]+[ ,]-?[\d.]+/g) || []).slice(0, 9))
    .map(pair => seen(...pair.split(/[ ,]/).map(Number)));
  const box = svg.getBoundingClientRect();
  return {{id: figure.id, box: [box.x, box.y, box.width, box.height], buttons: figure.querySelectorAll('.tools button').length,
          axes: svg.querySelectorAll('.tick').length > 0, places: curves.flatMap(c => [...first(c.querySelectorAll('use'), e => e.getAttribute('transform')),
            ...first(c.querySelectorAll('polygon'), e => e.getAttribute('points')),
            ...first(c.querySelectorAll('path'), e => e.getAttribute('d'))])}};
}})()"""
TIP = "document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').textContent"
FIGURE = "document.querySelectorAll('figure.answers')[{0}]"
BUTTON = FIGURE + ".querySelectorAll('.tools button')[{1}].click()"
VIEW = FIGURE + ".querySelector('svg').getAttribute('viewBox')"
EDGES = FIGURE + ".querySelectorAll('.edges text').length"
# Switches each series off and on again; how many curves were hidden on the way, and how many are hidden at last.
SWITCH = """(() => {{
  const figure = document.querySelectorAll('figure.answers')[{0}];
  const hidden = () => [...figure.querySelectorAll('svg g')].filter(g => g.style.display === 'none').length;
  let off = true;
  const buttons = [...figure.querySelectorAll('.tools button[aria-pressed]')];
  for (const one of buttons) {{ one.click(); off = off && hidden() > 0; one.click(); }}
  return off && hidden() === 0;
}})()"""


def check_figure(browser, number, fail):
    place = browser.ask(PLACE.format(number))
    if place["buttons"] < 2:
        return fail(place["id"] + " is not drawn, or has no buttons")
    told = ""
    for x, y in place["places"]:
        browser.mouse("mouseMoved", x, y)
        told = told or browser.ask(TIP)
        if told:
            break
    if not told and place["axes"] and place["places"]:  # pictures have no values
        fail(place["id"] + " tells no value under the pointer")
    if not browser.ask(SWITCH.format(number)):
        fail(place["id"] + ": a series cannot be switched off and on")
    whole = browser.ask(VIEW.format(number))
    x, y, width, height = place["box"]
    browser.mouse("mousePressed", x + width * .4, y + height * .4, 1)
    browser.mouse("mouseMoved", x + width * .6, y + height * .6, 1)
    browser.mouse("mouseReleased", x + width * .6, y + height * .6)
    for press in ("drawing a rectangle", "+"):
        if browser.ask(VIEW.format(number)) == whole:
            fail(f"{place['id']}: {press} does not zoom in")
        elif place["axes"] and place["places"] and not browser.ask(EDGES.format(number)):
            fail(f"{place['id']}: {press} leaves no axis")
        browser.ask(BUTTON.format(number, 1))
        if browser.ask(VIEW.format(number)) != whole:
            fail(f"{place['id']}: 'whole figure' does not end the zoom")
        browser.ask(BUTTON.format(number, 0))
    browser.ask(BUTTON.format(number, 1))


# A wrong and then the right answer to each prediction of a lesson; what is still covered, and what was said.
PREDICT = """(() => [...document.querySelectorAll('form.predict')].map(form => {
  const field = form.querySelector('input, select'), say = () => form.querySelector('output').textContent.slice(0, 5);
  let covered = form.nextElementSibling;
  while (covered.matches('form.predict')) covered = covered.nextElementSibling;
  const before = covered.hidden || form.previousElementSibling.matches('form.predict');
  const answer = value => { field.value = value; form.requestSubmit(); return say(); };
  const other = [...(field.options || [])].map(o => o.value).find(v => v && v !== form.dataset.answer) || 'x';
  return [before, answer(other), answer(form.dataset.answer)];
}))()"""
# Whether each live figure of a lesson stands, with its tasks.
LIVE = """new Promise(done => { const look = left => {
  const all = [...document.querySelectorAll('section[data-live]')];
  const seen = line => getComputedStyle(line).stroke !== 'none';
  const there = all.every(box => [...box.querySelectorAll('polyline')].every(seen) && box.querySelectorAll('.live-tasks li').length === 2 && box.querySelector('.live-content').children.length > 0);
  if (there || left === 0) done(there ? all.length : -1); else setTimeout(() => look(left - 1), 100);
}; look(100); })"""


def check_lesson(browser, fail, first):
    for covered, wrong, right in browser.ask(PREDICT) if first else []:  # later on the browser knows the answers
        if not covered or wrong != "Not s" or right != "Right":
            fail(f"a prediction: covered {covered}, a wrong answer {wrong}, the right one {right}")
    if browser.ask("[...document.querySelectorAll('pre')].some(pre => pre.hidden)"):
        fail("an output stays covered")
    return browser.ask(LIVE)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    pages = sorted(folder.glob(sys.argv[3] if len(sys.argv) > 3 else "report*.html"))
    lessons = sorted((folder / "site/lessons").glob("[0-9]*.html"))
    live = 0
    shots = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    faults, figures, pictures = [], 0, 0
    browser = Browser(program)
    views = [(DESK, "light"), (PHONE, "dark"), (SMALL, "light")] + ([(DESK, "dark"), (PHONE, "light")] if shots else [])
    for page in pages + lessons:
        for size, scheme in views:
            where = f"{page.name}, {size[0]} pixels, {scheme}"
            fail = lambda what: faults.append(f"{where}: {what}")
            browser.open(page.as_uri(), size, scheme)
            height = browser.ask("document.documentElement.scrollHeight")
            if page.name.startswith("report-") and page.stem not in LISTS and height > MOST_SCREENS.get(size, 99) * size[1]:
                fail(f"{height / size[1]:.1f} screens, more than {MOST_SCREENS[size]}")
            if page in pages and size != SMALL:
                smallest = browser.ask(SMALLEST)
                if smallest < LEAST_LABEL - .1:
                    fail(f"letters of {smallest:.1f} pixels in a drawing")
                sentence, times = browser.ask(REPEATED)
                if times > MOST_REPEATED:
                    fail(f"{times} times: {sentence}")
            if shots:
                browser.picture(shots / f"{page.stem}_{size[0]}_{scheme}.png", height)
            wide = browser.ask(TOO_WIDE)
            browser.ask("for (const e of document.querySelectorAll('details')) e.open = true")
            wide = wide or browser.ask(TOO_WIDE)
            if wide:
                fail("wider than the window: " + wide)
            if bad := browser.ask(BAD_PICTURES):
                fail(f"{bad} pictures are not shown")
            pictures += browser.ask("document.querySelectorAll('svg image').length")
            if size == DESK and scheme == "light":
                count = browser.ask("document.querySelectorAll('figure.answers').length")
                for number in range(count):
                    check_figure(browser, number, fail)
                figures += count
            if page in lessons:
                there = check_lesson(browser, fail, size == DESK and scheme == "light")
                live += max(0, there)
                if there < 0:
                    fail("a live figure does not stand")
            for message in browser.messages():
                fail("console: " + message)
    browser.close()
    for file in folder.glob("*/figures.json"):  # gnuplot leaves out a label that has no room
        for one in [f for f in json.loads(file.read_text()) if f["plot"] != "nothing_finite"]:
            svg = html.unescape((file.parent / f"{one['name']}.page.svg").read_text())
            texts = [axis["label"] for axis in one["axes"].values()] + [panel["title"] for panel in one["panels"]]
            faults += [f"{file.parent.name}-{one['name']} lacks \"{text}\"" for text in texts if text and text.split()[0] not in svg]
    print(f"{len(pages)} pages, {len(lessons)} lessons, {figures} figures, {live} times a live one, {pictures} times a picture, {len(faults)} faults")
    print("\n".join(faults[:40]))
    sys.exit(1 if faults or not pages or not figures else 0)


if __name__ == "__main__":
    main()
