"""What the tests share: the command line beside the package, and random codes of a format."""

import ast
import inspect
import os
import pathlib
import subprocess

import numpy
import pytest

import ulplab


@pytest.fixture(scope="module")
def program():
    path = os.environ.get("ULPLAB_PROGRAM")
    if not path:
        pytest.skip("skipped: no ULPLAB_PROGRAM, the path of the program")

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # what it computes here is small

    def run(*arguments):
        return subprocess.run([path, *map(str, arguments)], check=True, capture_output=True, text=True,
                              env=environment).stdout

    return run


def codes_of(format, shape, seed):
    """Codes of finite numbers of moderate size: exponents around the format's middle."""
    f = ulplab.format(format)
    rng = numpy.random.default_rng(seed)
    top = min(2.0**4, f.largest)
    return ulplab.encode(rng.standard_normal(shape) * top / 8, format)


def beside_midpoints(name, kind="f8"):
    """Every finite number of a format of up to 16 bits, the middle above it and that one's neighbours among numbers of
    `kind`, of both signs; what lies beyond the ends, infinities and NaN."""
    f = ulplab.format(name)
    codes = numpy.arange(1 << f.storage_bits, dtype=f"u{1 if f.storage_bits <= 8 else 2}")
    x = ulplab.decode(codes, f)
    x = numpy.unique(numpy.abs(x[numpy.isfinite(x)])).astype(kind)
    with numpy.errstate(over="ignore"):
        middle = x + numpy.append(numpy.diff(x), x[-1] - x[-2]) / 2
    ends = numpy.array([0, 1e-30, 1e30, numpy.inf, numpy.nan], kind)
    x = numpy.concatenate([x, middle, *(numpy.nextafter(middle, ends[i]) for i in (0, 3)), ends])
    return numpy.concatenate([x, -x])


def bits(array):
    """The words of an array."""
    return numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def same_bits(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and bool((bits(x) == bits(y)).all())


def check_stub(package, module):
    """Whether a stub declares all public names with their parameters, and each has a docstring."""
    tree = ast.parse((pathlib.Path(package.__file__).parent / f"{module}.pyi").read_text())
    stubs = {each.name: each for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    for name in package.__all__:
        assert name in stubs, name
        assert getattr(package, name).__doc__, name
        if isinstance(stubs[name], ast.FunctionDef) and name != "paused":
            a = stubs[name].args
            listed = [x.arg for x in a.args + a.kwonlyargs] + [x.arg for x in (a.vararg, a.kwarg) if x]
            assert sorted(listed) == sorted(inspect.signature(getattr(package, name)).parameters), name


SHARED = pathlib.Path(os.environ["ULPLAB_SHARED"]) if os.environ.get("ULPLAB_SHARED") else None
