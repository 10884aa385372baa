"""What the tests share: the command line beside the package, and random codes of a format."""

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

    def run(*arguments, code=0):
        ended = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, env=environment)
        if ended.returncode != code:
            raise subprocess.CalledProcessError(ended.returncode, ended.args, ended.stdout, ended.stderr)
        return ended.stdout

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


SHARED = pathlib.Path(os.environ["ULPLAB_SHARED"]) if os.environ.get("ULPLAB_SHARED") else None
