"""The first lines of docs/python.md print what stands below them."""

import pathlib
import re
import subprocess
import sys

GUIDE = pathlib.Path(__file__).parents[3] / "docs" / "python.md"


def test_the_first_lines_print_what_is_shown():
    code, shown = re.search(r"```python\n(.*?)```\s*```text\n(.*?)```", GUIDE.read_text(), re.DOTALL).groups()
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == shown
