#!/usr/bin/env python3
"""Runs the notebooks and writes each with its output as NAME.md. With --check: only says whether they are current.

    PYTHONPATH=build/release/python /usr/bin/python3 docs/notebooks/make.py [--check] [NAME...]

A notebook is a script: lines after "# " at the left margin, outside of code, are text; "# %%" begins a cell of code.
"""

import contextlib
import io
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def cells(text):
    """(kind, lines) of text and code, in turn."""
    kind, lines = "text", []
    for line in text.splitlines():
        begins = "code" if line == "# %%" else "text" if line.startswith("# ") and lines[-1:] == [""] else None
        if begins:
            yield kind, lines
            kind, lines = begins, []
        if line != "# %%":
            lines.append(line)
    yield kind, lines


def run(path):
    """The notebook with its output, as Markdown."""
    out = [f"<!-- Written by docs/notebooks/make.py from {path.name}; do not edit. -->"]
    names = {"__name__": "notebook"}
    for kind, lines in cells(path.read_text()):
        text = "\n".join(lines).strip("\n")
        if not text:
            continue
        if kind == "text":
            out.append("\n".join(line[2:] if line.startswith("# ") else line.lstrip("#") for line in text.splitlines()))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, str(path), "exec"), names)
        out.append(f"```python\n{text}\n```")
        if printed.getvalue():
            out.append(f"```text\n{printed.getvalue().rstrip()}\n```")
    return "\n\n".join(out) + "\n"


def main():
    check = "--check" in sys.argv
    names = [each for each in sys.argv[1:] if each != "--check"]
    stale = []
    for path in sorted(HERE.glob("*.py")):
        if path.name == "make.py" or (names and path.stem not in names):
            continue
        text, page = run(path), path.with_suffix(".md")
        if check and (not page.exists() or page.read_text() != text):
            stale.append(page.name)
        elif not check:
            page.write_text(text)
    if stale:
        sys.exit(f"make.py: {', '.join(stale)}: not what the notebook prints now; run docs/notebooks/make.py")


if __name__ == "__main__":
    main()
