"""The site: every link leads somewhere, no page is heavy or asks another machine, every prediction can be answered.

Usage: site.py ULPLAB FOLDER. FOLDER gets the site of a folder without results.
"""
import pathlib
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

HEAVIEST = 1_500_000  # bytes of a page with the scripts that it names


class Page(HTMLParser):
    """Ids, links, files that a browser loads, and predictions with the text of the block that they cover."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded, self.predictions = set(), [], [], []
        self.waiting = []  # predictions whose block has not come yet
        self.inside = ""   # form or pre
        self.headings = 0  # of the first level
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        self.headings += tag == "h1"
        if "id" in have:
            self.ids.add(have["id"])
        if tag == "a" and "href" in have:
            self.links.append(have["href"])
        self.loaded += [have[name] for name in ("src", "srcset", "poster") if name in have]
        if tag == "link":
            self.loaded.append(have.get("href", ""))
        if tag == "form" and have.get("class") == "predict":
            self.waiting.append({"question": have["data-question"], "answer": have["data-answer"], "choices": [], "block": ""})
            self.predictions.append(self.waiting[-1])
        if tag in ("form", "pre"):
            self.inside = tag

    def handle_endtag(self, tag):
        if tag == "pre":
            self.waiting = []
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data):
        if self.inside == "form" and self.waiting:
            self.waiting[-1]["choices"].append(data.strip())
        if self.inside == "pre":
            for prediction in self.waiting:
                prediction["block"] += data


def main(program, folder):
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    printed = subprocess.run([program, "site", "--out", folder], check=True, capture_output=True, text=True).stdout
    site = folder / "site"
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    wrong, predictions = [], 0
    for path, page in pages.items():
        name = path.relative_to(site)
        if page.headings != 1:
            wrong.append(f"{name} has {page.headings} titles")
        weight = path.stat().st_size
        for address in page.loaded:
            if urlsplit(address).scheme not in ("", "data"):
                wrong.append(f"{name} loads {address}")
            elif not address.startswith("data:"):
                file = path.parent / unquote(urlsplit(address).path)
                if not file.is_file():
                    wrong.append(f"{name} loads {address}, which is not there")
                else:
                    weight += file.stat().st_size
        if weight > HEAVIEST:
            wrong.append(f"{name} weighs {weight} bytes")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                wrong.append(f"{name} leads to {address}, which is not there")
            elif parts.fragment and target in pages and "?" not in parts.fragment and "playground" not in target.parts:
                if unquote(parts.fragment) not in pages[target].ids:
                    wrong.append(f"{name} leads to {address}: there is no such place")
        for prediction in page.predictions:
            predictions += 1
            if prediction["answer"] not in prediction["choices"] and prediction["answer"] not in prediction["block"]:
                wrong.append(f"{name}: the answer to {prediction['question']} is neither printed nor a choice")
    if (site / "lessons/questions.html").read_text().count("<details>") != 60:
        wrong.append("the bank has not sixty questions, as the teacher's page says")
    lessons = [path for path in pages if path.parent.name == "lessons" and path.name[0].isdigit()]
    for path in lessons:
        if not pages[path].predictions:
            wrong.append(f"{path.name} asks for no prediction")
    print(printed, f"{len(pages)} pages, {predictions} predictions, {len(wrong)} faults", sep="")
    print("\n".join(wrong[:40]), file=sys.stderr)
    if not lessons or wrong:
        sys.exit(1)
    # The control: a link that leads nowhere is found.
    assert Page('<a href="nowhere.html">x</a>').links == ["nowhere.html"]


main(sys.argv[1], sys.argv[2])
