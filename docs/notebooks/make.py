#!/usr/bin/env python3
"""Runs the notebooks and writes each with its output as NAME.ipynb. With --check: only says whether they are current.

    PYTHONPATH=build/release/python build/release/venv/bin/python docs/notebooks/make.py [--check] [NAME...]

The source of a notebook is the script NAME.py: lines after "# " at the left margin, outside of code, are text; "# %%" begins
a cell of code. Its first lines say what it answers.
"""

import contextlib
import io
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def cells(text):
    """(kind, text) of text and code, in turn."""
    kind, lines = "markdown", []
    for line in text.splitlines() + ["# %%"]:
        begins = "code" if line == "# %%" else "markdown" if line.startswith("# ") and lines[-1:] == [""] else None
        if begins and "\n".join(lines).strip("\n"):
            yield kind, "\n".join(lines).strip("\n")
        if begins:
            kind, lines = begins, []
        if line != "# %%":
            lines.append(line)


def run(path):
    """The notebook with its output, as the text of a file of Jupyter's format 4.5."""
    made = []
    names = {"__name__": "notebook"}
    for kind, text in cells(path.read_text()):
        cell = {"cell_type": kind, "id": f"cell{len(made)}", "metadata": {}}
        if kind == "markdown":
            text = "\n".join(line[2:] if line.startswith("# ") else line.lstrip("#") for line in text.splitlines())
        else:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(text, str(path), "exec"), names)
            output = {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
            cell.update(execution_count=sum(each["cell_type"] == "code" for each in made) + 1,
                        outputs=[output] if printed.getvalue() else [])
        made.append({**cell, "source": text.splitlines(keepends=True)})
    notebook = {"cells": made, "nbformat": 4, "nbformat_minor": 5, "metadata": {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"}}}
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main():
    check = "--check" in sys.argv
    names = [each for each in sys.argv[1:] if each != "--check"]
    stale = []
    for path in sorted(HERE.glob("*.py")):
        if path.name == "make.py" or (names and path.stem not in names):
            continue
        text, notebook = run(path), path.with_suffix(".ipynb")
        if check and (not notebook.exists() or notebook.read_text() != text):
            stale.append(notebook.name)
        elif not check:
            notebook.write_text(text)
    if stale:
        sys.exit(f"make.py: {', '.join(stale)}: not what the notebook prints now; run docs/notebooks/make.py")


if __name__ == "__main__":
    main()
