"""Draws the diagrams of the lessons: python3 docs/lessons/diagrams.py FOLDER. The same bytes every time."""
import sys
from pathlib import Path

INK, SOFT, LINE, CUT, BLUE, GREEN, ORANGE = "#1a1a1a", "#595959", "#c9c9c9", "#b3261e", "#0b57a4", "#0b6e4f", "#b45f06"


class Drawing:
    def __init__(self, width, height, title):
        self.width, self.height, self.parts = width, height, []
        self.title = title

    def text(self, x, y, words, colour=INK, size=14, anchor="start", weight="normal", mono=False):
        family = "DejaVu Sans Mono, monospace" if mono else "DejaVu Sans, sans-serif"
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" text-anchor="{anchor}" '
                          f'font-weight="{weight}" font-family="{family}">{words}</text>')

    def box(self, x, y, width, height, fill="none", stroke=LINE, radius=4):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" fill="{fill}" '
                          f'stroke="{stroke}" stroke-width="1.5"/>')

    def line(self, x1, y1, x2, y2, colour=SOFT, width=1.5, dashes="", arrow=False):
        extra = (f' stroke-dasharray="{dashes}"' if dashes else "") + (' marker-end="url(#arrow)"' if arrow else "")
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" '
                          f'stroke-width="{width}"{extra}/>')

    def bits(self, x, y, digits, step=17, colour=INK, cut_from=None):
        """Digits in a row; from `cut_from` on crossed out."""
        for i, digit in enumerate(digits):
            if digit == " ":
                continue
            gone = cut_from is not None and i >= cut_from
            self.text(x + i * step, y, digit, CUT if gone else colour, 15, "middle", mono=True)
            if gone and digit != ".":
                self.line(x + i * step - 6, y - 5, x + i * step + 6, y - 5, CUT)

    def write(self, path):
        arrow = ('<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
                 f'orient="auto"><path d="M0 0 8 4 0 8z" fill="{SOFT}"/></marker></defs>')
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                        f'width="{self.width}" height="{self.height}" role="img"><title>{self.title}</title>{arrow}'
                        f'<rect width="{self.width}" height="{self.height}" fill="#ffffff"/>\n'
                        + "\n".join(self.parts) + "\n</svg>\n")


def align_and_cut():
    """Lesson 8's products on A100 (F = 24): 1 and four times 2^-25."""
    d = Drawing(540, 320, "Five terms are aligned to the largest exponent and cut after 24 fraction bits")
    d.text(12, 26, "A100: terms are aligned to the largest exponent,", size=15, weight="bold")
    d.text(12, 46, "M = 0, and cut after F = 24 fraction bits", size=15, weight="bold")
    places = ["0", "-1", "-2", "...", "-23", "-24", "-25"]
    x = [170 + 55 * i for i in range(len(places))]
    for place, at in zip(places, x):
        d.text(at, 80, "2^" + place if place != "..." else "...", SOFT, 14, "middle")
    rows = [("1 x 1", ["1", "0", "0", "...", "0", "0", ""])] + \
        [("2^-12 x 2^-13", ["0", "0", "0", "...", "0", "0", "1"])] * 4
    for r, (name, digits) in enumerate(rows):
        y = 108 + 26 * r
        d.text(12, y, name, mono=True)
        for i, digit in enumerate(digits):
            gone = i > 5 and digit == "1"
            d.text(x[i], y, digit, CUT if gone else INK if digit == "1" else SOFT, 16, "middle", mono=True)
            if gone:
                d.line(x[i] - 9, y - 5, x[i] + 9, y - 5, CUT, 2)
    bar = x[5] + 28
    d.line(bar, 64, bar, 256, CUT, 2, "6 4")
    d.text(bar + 8, 252, "cut", CUT, 15)
    d.line(12, 226, bar - 8, 226, INK)
    d.text(12, 250, "sum", mono=True)
    for i, digit in enumerate(["1", "0", "0", "...", "0", "0"]):
        d.text(x[i], 250, digit, BLUE, 16, "middle", "bold", True)
    d.text(12, 286, "Together the four are 2^-23: one unit in the last place of the", SOFT)
    d.text(12, 306, "fp32 result. H100 keeps 25 bits, and has it.", SOFT)
    return d


def eleven_steps():
    d = Drawing(540, 470, "The eleven steps of mixed-precision training")
    steps = [("1", "weights, rounded", "fp16"), ("2", "forward", "fp16"), ("3", "loss", "fp32"), ("4", "times the scale", "fp32"),
             ("5", "backward", "fp16"), ("6", "gradients", "fp32"), ("7", "divided by scale", "fp32"),
             ("8", "clipped", "fp32"), ("9", "masters updated", "fp32"), ("10", "masters, rounded", "fp16"),
             ("11", "into the model", "fp16")]
    left, middle, right = 34, 206, 378
    places = [(left, 72), (middle, 72), (right, 72), (right, 172), (middle, 172), (left, 172), (left, 286), (middle, 286),
              (right, 286), (right, 386), (middle, 386)]
    d.text(12, 26, "One step of training. Blue: runs in fp16.", size=15, weight="bold")
    d.text(12, 46, "Orange: is kept in fp32.", size=15, weight="bold")
    for (number, what, kind), (x, y) in zip(steps, places):
        d.box(x, y, 148, 56, "#e8f0fb" if kind == "fp16" else "#fdf0e0", BLUE if kind == "fp16" else ORANGE)
        d.text(x + 9, y + 22, number + ".", BLUE if kind == "fp16" else ORANGE, 15, weight="bold")
        d.text(x + 42, y + 22, kind, SOFT, 13)
        d.text(x + 9, y + 45, what)
    for (x1, y1), (x2, y2) in zip(places, places[1:]):
        if y1 == y2:
            d.line(x1 + 148 if x2 > x1 else x1, y1 + 28, x2 - 2 if x2 > x1 else x2 + 150, y2 + 28, arrow=True)
        else:
            d.line(x1 + 74, y1 + 56, x2 + 74, y2 - 2, arrow=True)
    d.line(middle, 414, 14, 414)
    d.line(14, 414, 14, 100)
    d.line(14, 100, left - 2, 100, arrow=True)
    d.text(34, 440, "the next step begins", SOFT)
    d.text(34, 458, "with these weights", SOFT)
    d.text(right + 148, 256, "infinite or NaN? Skip the step, lower the scale", CUT, 14, "end")
    return d


def cancellation():
    d = Drawing(540, 270, "Subtracting near numbers leaves few known bits")
    d.text(12, 26, "fp16: 1.0009765625 was 1.001 before it was rounded", size=15, weight="bold")
    first, second, left, step = "1.0000000001", "1.0000000000", 160, 18
    after = left + len(first) * step + 4
    d.text(after, 56, "lost by rounding", CUT, 14)
    d.text(12, 80, "1.001, rounded", mono=True)
    d.bits(left, 80, first, step)
    d.text(after, 80, "0000011000...", CUT, 15, mono=True)
    d.text(12, 110, "1", mono=True)
    d.bits(left, 110, second, step)
    d.line(12, 124, 528, 124, INK)
    d.text(12, 148, "difference", mono=True)
    d.bits(left, 148, "0.000000000", step, SOFT)
    d.text(left + 11 * step, 148, "1", BLUE, 16, "middle", "bold", True)
    d.text(after, 148, "0000000000", SOFT, 15, mono=True)
    for i, words in enumerate(["The subtraction is exact: 2^-10. All digits that agreed are gone,",
                               "and the one that is left carries the error of the operand:",
                               "0.000976 instead of 0.001, 2.3 % off. Cancellation makes",
                               "no error; it shows one."]):
        d.text(12, 184 + 22 * i, words)
    return d


def block_scales():
    d = Drawing(540, 376, "One scale for a tensor, and one for each block")
    d.text(12, 26, "E2M1 spans 0.5 to 6, less than four binades.", size=15, weight="bold")
    d.text(12, 46, "Where a scale puts it decides what survives.", size=15, weight="bold")
    magnitudes = [-7, -6, -7, -5, -6, -7, 6, -6]  # of each block's largest number, as a power of two

    def row(top, titles, scales):
        for i, title in enumerate(titles):
            d.text(12, top - 10 + 18 * (i + 1 - len(titles)), title)
        for b, (top_exponent, scale) in enumerate(zip(magnitudes, scales)):
            x = 58 + 60 * b
            y = lambda e: top + 100 - (e + 8) * 6.5
            d.box(x, y(scale) - 5, 50, 3.6 * 6.5 + 8, "#e3f1ea", GREEN, 2)
            for k in range(4):
                e = top_exponent - (0 if k == 0 else (k * 7) % 3 + 0.5)
                seen = scale - 3.6 <= e <= scale
                d.parts.append(f'<circle cx="{x + 8 + 11.5 * k}" cy="{y(e):.1f}" r="4" fill="{BLUE if seen else CUT}"/>')
        d.text(50, top + 14, "2^6", SOFT, 13, "end")
        d.text(50, top + 105, "2^-8", SOFT, 13, "end")

    row(98, ["One scale: the outlier in the seventh block sets it."], [6] * 8)
    d.text(58, 170, "Everything else (red) becomes zero.", CUT, 14)
    row(250, ["A scale for each block: only the outlier's own block pays."], magnitudes)
    return d


def divergence():
    d = Drawing(540, 440, "From two runs that differ to the cause")
    d.text(12, 26, "Two runs differ: from the curves back to one number", size=15, weight="bold")
    boxes = [(20, 50, "the losses part", "at step 100"), (310, 50, "the weights differ", "from step 1 on"),
             (310, 140, "one gradient differs", "in one layer, first"), (20, 140, "one product differs", "in one element")]
    for x, y, first, second in boxes:
        d.box(x, y, 210, 60, "#e8f0fb", BLUE)
        d.text(x + 105, y + 25, first, size=15, anchor="middle")
        d.text(x + 105, y + 47, second, SOFT, 14, "middle")
    d.line(230, 80, 308, 80, arrow=True)
    d.line(415, 110, 415, 138, arrow=True)
    d.line(310, 170, 232, 170, arrow=True)
    d.line(125, 200, 125, 258)
    d.text(137, 236, "compute it again, as the unit does: it gives ...", SOFT)
    ends = [(10, GREEN, "#e3f1ea", ["each unit's", "own bits"], ["Nothing is broken:", "compare spreads", "of seeds."]),
            (187, ORANGE, "#fdf0e0", ["bits of another", "order or unit"], ["Another kernel,", "split of k, or", "instruction."]),
            (364, CUT, "#fbe9e7", ["neither", ""], ["A bug: these", "operands are", "its test case."])]
    for x, colour, fill, head, rest in ends:
        d.box(x, 290, 166, 138, fill, colour)
        for i, words in enumerate(head):
            d.text(x + 83, 316 + 20 * i, words, colour, 15, "middle", "bold")
        for i, words in enumerate(rest):
            d.text(x + 83, 368 + 22 * i, words, anchor="middle")
        d.line(x + 83, 258, x + 83, 288, arrow=True)
    d.line(93, 258, 447, 258)
    return d


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for draw in (align_and_cut, eleven_steps, cancellation, block_scales, divergence):
        draw().write(folder / f"{draw.__name__}.svg")
