"""The package's types as mypy sees them: uses that are right, and such as are not."""

import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import ulplab

RIGHT = """
import numpy
import ulplab
import ulplab.torch

x: float = ulplab.round(0.1, "e4m3", "stochastic", seed=1)
half: ulplab.Format = ulplab.format(11, -14, 15)
largest: float = max(each.largest for each in ulplab.formats().values())
a = numpy.ones((2, 16), "f4")
d = ulplab.matmul(a, a.T, unit=ulplab.units("sm_90")[0], order=ulplab.Order(split_k=2), round=True)
q: ulplab.Quantized = ulplab.quantize(a, "nvfp4")
lines: int = q.block[0]
y = ulplab.exp(a, "bf16", round=True)
gamma: float | None = ulplab.bound("sm_90:wgmma.fp16.fp32", k=64).gamma
last: float = ulplab.train("mlp", steps=3).losses[-1]
try:
    ulplab.inspect("checkpoint.safetensors")
except ulplab.DataError as error:
    print(error, ulplab.__version__.split("."))
with ulplab.torch.emulate("h100", recipe="bf16") as run:
    print(run.report())
scale: float = ulplab.torch.GradScaler("apex", init_scale=2.0**10).get_scale()


def overflows_of(run: ulplab.torch.Emulation | ulplab.torch.Native) -> dict[str, int]:
    report: ulplab.torch.Report = run.report()
    first = report.first_not_finite
    if first is not None:
        at: tuple[int, ...] = first["element"]
        print(at, first["pass"].upper(), first["remedy"].splitlines())
    if report.against is not None:
        print(report.against.findings()[0][2].upper(), report.against.bound + 1)
    total: int = report.overflows + report.products["fc1"]
    print(total, report.to_json().encode(), run.not_emulated.most_common(), run.strict)
    return {name: each["overflows"] for name, each in report.modules.items()}


def needed() -> list[str]:
    found = ulplab.torch.search(lambda: None)
    print([trial.error + 1 for trial in found.trials], ulplab.torch.diagnose(lambda: None).remedy.upper())
    return found.fp32 or []
"""

#: Each line but the first two has a mistake.
WRONG = """
import ulplab
import ulplab.torch
ulplab.rond(0.1, "e4m3")
ulplab.round(0.1, "e4m3", 7)
ulplab.round(0.1, "e4m3", sed=1)
ulplab.matmul([[1.0]], [[1.0]])
ulplab.matmul([[1.0]], [[1.0]], unit=5)
ulplab.Order(split=2)
ulplab.exp([1.0], rounded=True)
n: int = ulplab.bound("sm_90:wgmma.fp16.fp32", k=64).gamma
ulplab.unit("sm_90:wgmma.fp16.fp32").name
ulplab.Format(16, 5)
ulplab.train("mlp", steps="many")
ulplab.torch.emulate("h100", recipes="bf16")
ulplab.torch.emulate("h100").report().overflow
ulplab.torch.emulate("h100").report().modules["fc1"]["overflown"]
"""


def complaints(folder, text):
    """The lines of a program at which mypy complains."""
    (folder / "program.py").write_text(text.lstrip("\n"))
    (folder / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-torch.*]\nfollow_imports = skip\n"
                                     "ignore_missing_imports = True\n[mypy-ulplab.*]\nignore_errors = True\n")
    package = pathlib.Path(ulplab.__file__).parent
    if not (package / "_core.pyi").exists():
        pytest.skip("skipped: no type stubs: pybind11-stubgen was missing when the package was built")
    found = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", "program.py"],
                           cwd=folder, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(package.parent)})
    assert not found.stderr, found.stderr
    return {int(line.split(":")[1]): line for line in found.stdout.splitlines() if ": error:" in line}


def test_mypy_accepts_what_is_right_and_finds_each_mistake(tmp_path):
    assert complaints(tmp_path, RIGHT) == {}
    wrong = complaints(tmp_path, WRONG)
    assert sorted(wrong) == list(range(3, WRONG.count("\n"))), wrong


def check_signatures(package):
    """Each public name has a docstring, and each public function a type for every parameter."""
    for name in package.__all__:
        value = getattr(package, name)
        assert value.__doc__, name
        if inspect.isfunction(value) and name not in ulplab.functions():  # whose type is one for all
            parameters = inspect.signature(value).parameters.values()
            untyped = [each.name for each in parameters if each.annotation is each.empty]
            assert not untyped, (name, untyped)


def test_signatures_are_typed_where_they_stand():
    check_signatures(ulplab)
    assert set(ulplab.functions()) <= set(ulplab.__all__)


def test_so_are_those_for_pytorch():
    pytest.importorskip("torch", reason="skipped: no PyTorch (--torch)")
    import ulplab.torch

    check_signatures(ulplab.torch)
