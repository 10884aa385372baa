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
    d = Drawing(760, 300, "Five terms are aligned to the largest exponent and cut after 24 fraction bits")
    left, step = 150, 20
    d.text(16, 28, "A100: terms are aligned to the largest exponent, M = 0, and cut after F = 24 fraction bits", weight="bold")
    places = ["0", "-1", "-2", "...", "-22", "-23", "-24", "-25", "-26"]
    x = [left + 60 * i for i in range(len(places))]
    for place, at in zip(places, x):
        d.text(at, 60, "2^" + place if place != "..." else "...", SOFT, 13, "middle")
    rows = [("1 x 1", ["1", "0", "0", "...", "0", "0", "0", "", ""])] + \
        [("2^-12 x 2^-13", ["0", "0", "0", "...", "0", "0", "0", "1", ""])] * 4
    for r, (name, digits) in enumerate(rows):
        y = 90 + 30 * r
        d.text(16, y, name, size=13, mono=True)
        for i, digit in enumerate(digits):
            gone = i > 6 and digit == "1"
            d.text(x[i], y, digit, CUT if gone else INK if digit == "1" else SOFT, 15, "middle", mono=True)
            if gone:
                d.line(x[i] - 8, y - 5, x[i] + 8, y - 5, CUT, 2)
    bar = x[6] + 30
    d.line(bar, 44, bar, 250, CUT, 2, "6 4")
    d.text(bar + 8, 270, "cut", CUT)
    d.line(16, 224, bar - 10, 224, INK)
    d.text(16, 246, "sum", size=13, mono=True)
    for i, digit in enumerate(["1", "0", "0", "...", "0", "0", "0"]):
        d.text(x[i], 246, digit, BLUE, 15, "middle", "bold", True)
    d.text(16, 284, "Together the four are 2^-23: one unit in the last place of the fp32 result. H100 keeps 25 bits, and has it.",
           SOFT, 13)
    return d


def eleven_steps():
    d = Drawing(760, 430, "The eleven steps of mixed-precision training")
    steps = [("1", "weights, rounded", "fp16"), ("2", "forward", "fp16"), ("3", "loss", "fp32"), ("4", "times the scale", "fp32"),
             ("5", "backward", "fp16"), ("6", "gradients", "fp32"), ("7", "divided by the scale", "fp32"),
             ("8", "clipped", "fp32"), ("9", "masters updated", "fp32"), ("10", "masters, rounded", "fp16"),
             ("11", "copied to the model", "fp16")]
    places = [(20, 60), (210, 60), (400, 60), (590, 60), (590, 160), (590, 260), (400, 260), (210, 260), (20, 260),
              (20, 360), (210, 360)]
    d.text(20, 30, "One step: what is kept in fp32 (orange), what runs in fp16 (blue)", weight="bold")
    for (number, what, kind), (x, y) in zip(steps, places):
        d.box(x, y, 150, 52, "#e8f0fb" if kind == "fp16" else "#fdf0e0", BLUE if kind == "fp16" else ORANGE)
        d.text(x + 10, y + 21, number + ".", BLUE if kind == "fp16" else ORANGE, weight="bold")
        d.text(x + 42, y + 21, kind, SOFT, 12)
        d.text(x + 10, y + 42, what, size=13)
    for (x1, y1), (x2, y2) in zip(places, places[1:]):
        if y1 == y2:
            d.line(x1 + 150 if x2 > x1 else x1, y1 + 26, x2 - 2 if x2 > x1 else x2 + 152, y2 + 26, arrow=True)
        else:
            d.line(x1 + 75, y1 + 52, x2 + 75, y2 - 2, arrow=True)
    d.line(360, 386, 385, 386)
    d.line(385, 386, 385, 140)
    d.line(385, 140, 95, 140)
    d.line(95, 140, 95, 114, arrow=True)
    d.text(400, 390, "the next step begins with these weights", SOFT, 13)
    for i, words in enumerate(["infinite or NaN?", "skip the step,", "lower the scale"]):
        d.text(580, 175 + 16 * i, words, CUT, 12, "end")
    return d


def cancellation():
    d = Drawing(760, 230, "Subtracting near numbers leaves few known bits")
    d.text(16, 28, "fp16: 1.0009765625 was 1.001 before it was rounded, 1 was 1", weight="bold")
    first, second, left = "1.0000000001", "1.0000000000", 190
    d.text(16, 70, "1.001, rounded", size=13, mono=True)
    d.bits(left, 70, first)
    d.text(left + 12 * 17 + 10, 70, "0000011000...", CUT, 14, mono=True)
    d.text(left + 12 * 17 + 135, 70, "lost when 1.001 was rounded", CUT, 13)
    d.text(16, 102, "1", size=13, mono=True)
    d.bits(left, 102, second)
    d.line(16, 116, 600, 116, INK)
    d.text(16, 140, "difference", size=13, mono=True)
    d.bits(left, 140, "0.000000000", colour=SOFT)
    d.text(left + 11 * 17, 140, "1", BLUE, 15, "middle", "bold", True)
    d.text(left + 12 * 17 + 10, 140, "0000000000", SOFT, 14, mono=True)
    d.text(16, 176, "The subtraction is exact: 2^-10. All digits that agreed are gone, and the one that is left carries the error of",
           size=13)
    d.text(16, 196, "the operand: 0.000976 in the place of 0.001, 2.3 % off. Cancellation makes no error; it shows one.", size=13)
    return d


def block_scales():
    d = Drawing(760, 330, "One scale for a tensor, and one for each block")
    d.text(16, 28, "E2M1 spans 0.5 to 6, less than four binades. Where a scale puts it decides what survives.", weight="bold")
    magnitudes = [-7, -6, -7, -5, -6, -7, 6, -6]  # of each block's largest number, as a power of two
    def row(top, title, scales):
        d.text(16, top - 8, title, size=13)
        for b, (top_exponent, scale) in enumerate(zip(magnitudes, scales)):
            x = 60 + 85 * b
            y = lambda e: top + 100 - (e + 8) * 6.5
            d.box(x, y(scale), 60, 3.6 * 6.5, "#e3f1ea", GREEN, 2)
            for k in range(4):
                e = top_exponent - (0 if k == 0 else (k * 7) % 3 + 0.5)
                seen = scale - 3.6 <= e <= scale
                d.parts.append(f'<circle cx="{x + 9 + 14 * k}" cy="{y(e):.1f}" r="4" fill="{BLUE if seen else CUT}"/>')
        d.text(52, top + 8, "2^6", SOFT, 12, "end")
        d.text(52, top + 104, "2^-8", SOFT, 12, "end")
    row(60, "one scale: the outlier in the seventh block sets it; everything else (red) becomes zero", [6] * 8)
    row(205, "a scale for each block: only the outlier's own block pays", magnitudes)
    return d


def divergence():
    d = Drawing(760, 300, "From two runs that differ to the cause")
    d.text(16, 28, "Two runs differ: from the curves back to one number", weight="bold")
    boxes = [(20, "the losses part", "at step 100"), (205, "the weights differ", "from step 1 on"),
             (390, "one gradient differs", "in one layer, first"), (575, "one product differs", "in one element")]
    for x, first, second in boxes:
        d.box(x, 55, 160, 56, "#e8f0fb", BLUE)
        d.text(x + 80, 79, first, size=13, anchor="middle")
        d.text(x + 80, 99, second, SOFT, 12, "middle")
    for (x, *_), (y, *_) in zip(boxes, boxes[1:]):
        d.line(x + 160, 83, y - 2, 83, arrow=True)
    d.line(655, 111, 655, 148, arrow=True)
    d.text(645, 136, "compute it again, as the unit does", SOFT, 12, "end")
    ends = [(20, GREEN, "#e3f1ea", "each unit's own bits", "nothing is broken:", "compare spreads of seeds"),
            (270, ORANGE, "#fdf0e0", "bits of another order or unit", "other kernel, split of k,", "other instruction"),
            (520, CUT, "#fbe9e7", "no computation gives them", "a bug: these operands", "are its test case")]
    for x, colour, fill, head, second, third in ends:
        d.box(x, 190, 220, 84, fill, colour)
        d.text(x + 110, 214, head, colour, 13, "middle", "bold")
        d.text(x + 110, 238, second, size=13, anchor="middle")
        d.text(x + 110, 258, third, size=13, anchor="middle")
    d.line(655, 150, 130, 150)
    for x in (130, 380, 630):
        d.line(x, 150, x, 188, arrow=True)
    return d


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for draw in (align_and_cut, eleven_steps, cancellation, block_scales, divergence):
        draw().write(folder / f"{draw.__name__}.svg")
