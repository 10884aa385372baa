"""Formats, rounding, codes, functions and quantisation."""

from __future__ import annotations

from typing import Any, Protocol

import numpy
from numpy.typing import ArrayLike

from . import _core
from ._core import Format
from ._kinds import Array, FormatLike, array_of, is_of_python, like, natural, numbers_of

__all__ = ["Format", "format", "formats", "round", "encode", "decode", "show", "Shown", "quantize", "dequantize",
           "Quantized", "quantizations", "functions", "evaluate", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "exp2",
           "log2", "sigmoid", "erf", "gelu", "softplus", "rsqrt", "cbrt"]


def format(name_or_precision: FormatLike | int, emin: int | None = None, emax: int | None = None) -> Format:
    """A number format.

    ``format("fp16")`` is the format of that name (:func:`formats` lists them). ``format(11, -14, 15)`` has 11
    significant bits and normal numbers from 2^-14 up to below 2^16, with subnormals, infinities and NaN.

    ValueError: no such name, or numbers outside fp64's range.
    """
    if (emin is None) != (emax is None):
        raise TypeError("a format has emin and emax both, or a name alone")
    if emin is None:
        return name_or_precision if isinstance(name_or_precision, Format) else Format(name_or_precision)
    return _core.custom_format(name_or_precision, emin, emax)


def formats() -> dict[str, Format]:
    """All named formats, widest first: a dictionary from the name to the Format.

    >>> ulplab.formats()["e4m3"].largest
    448.0
    """
    return {name: Format(name) for name, _ in _core.format_names()}


def round(x: ArrayLike, format: FormatLike, rounding: str = "nearest_even", *, seed: int | None = None,
          saturate: bool = False, subnormals: bool = True, stream: int = 0, first: int = 0, random_bits: int = 32,
          out: Array | None = None) -> Array:
    """``x`` rounded to a format: an array of the same shape and order whose numbers lie on the format's grid.

    x            numbers of any shape: float16, float32, float64, bfloat16 or FP8 (ml_dtypes), a CPU tensor, a number
    format       a name ("fp16", "e4m3", "tf32", ...) or a Format
    rounding     nearest_even, nearest_away, toward_zero, down, up, odd, or stochastic, which needs a seed
    seed         of stochastic rounding. Element i, counted in memory order, draws number ``first + i`` of (seed,
                 stream): pieces of an array round as the whole does
    saturate     infinite results become the largest finite number (PTX: .satfinite)
    subnormals   False: results below the smallest normal number become zeros of their sign
    out          an array for the result, of x's type, shape and order (float32 or float64); it may be x

    Returns float64 for float64, float32 for float32; float16 stays float16 where that holds the format, else it
    becomes float32. Rounded once, whatever type carries it; the bits of the C++ library's round_array.

    >>> ulplab.round(0.1, "e4m3")
    0.1015625
    """
    given = numbers_of(x)
    result = _core.round(given, format, rounding, natural(seed, "seed"), saturate, subnormals, natural(stream, "stream"),
                         natural(first, "first"), random_bits, None if out is None else array_of(out, "out"))
    if out is not None:
        return out
    if not isinstance(x, numpy.ndarray) and result.ndim == 0 and type(x) is not numpy.ndarray:
        result = like(result, x)
        return result if result is not None and not isinstance(result, numpy.ndarray) else result.item()
    return like(result, x)


def encode(x: ArrayLike, format: FormatLike, rounding: str = "nearest_even", *, saturate: bool = False) -> Array:
    """The storage words of ``x`` in a format: uint8, uint16, uint32 or uint64, of the same shape.

    Numbers that the format does not have are rounded, once; NaNs keep sign and payload where the format has them. An
    overflow and an infinity keep their sign where the result is NaN: -1000 is 0xFF in e4m3.
    saturate     infinite results become the largest finite number, infinities too

    >>> ulplab.encode([1.0, -0.5], "fp16")
    array([15360, 47104], dtype=uint16)
    """
    return like(_core.encode(numbers_of(x), format, rounding, saturate), x)


def decode(codes: ArrayLike, format: FormatLike) -> Array:
    """The numbers of storage words: float32 (float64 for fp64, and other formats that float32 does not hold), of the same
    shape.

    TypeError: words of another width than the format's. Python's integers may be of any width.
    ValueError: a word above the format's codes, as a byte is that holds two codes of e2m1; the element is named.
    """
    array = array_of(codes, "codes")
    if is_of_python(codes) and array.dtype.kind in "iu":
        array = _words(array, globals()["format"](format))
    return like(_core.decode(array, format), codes)


def _words(numbers, format):
    """Integers as storage words of a format."""
    outside = (numbers < 0) | (numbers >> format.storage_bits > 0) if format.storage_bits < 64 else numbers < 0
    if outside.any():
        raise ValueError(f"codes of {format.name} have {format.storage_bits} bits; {numbers[outside].flat[0]} is none")
    width = next(bits for bits in (8, 16, 32, 64) if bits >= format.storage_bits)
    return numbers.astype(f"u{width // 8}")


class Shown(list[dict[str, Any]]):
    """What :func:`show` gives: a dictionary for each format; prints as a table."""

    def __repr__(self):
        if len(self) == 1:
            return "\n".join(f"{key:<14} {value}" for key, value in self[0].items())
        rows = [f"{'format':<9} {'bits':<18}  {'value':<22} {'error/ulp':<12} flags"]
        rows += [f"{each['format']:<9} {each['bits']:<18}  {each['shortest']:<22} "
                 f"{each.get('error_in_ulps', '')[:10]:<12} {', '.join(each['flags'])}" for each in self]
        return "\n".join(rows)


def show(value: str | float, format: FormatLike | None = None, rounding: str = "nearest_even", *,
         saturate: bool = False) -> Shown:
    """What a number becomes in each format, or in one: bits, neighbours, unit in the last place, error, flags.

    ``value`` is a number or a text as the command line takes it: "0.1", "0x1.8p-10", "inf", "bits:3C00".

    >>> ulplab.show("0.1", "fp16")[0]["bits"]
    '0x2E66'
    """
    text = value if isinstance(value, str) else float(value).hex()
    if format is not None:
        return Shown([_core.describe(text, format, rounding, saturate)])
    rows = Shown()
    complaint = None
    for name, _ in _core.format_names():
        try:
            rows.append(_core.describe(text, name, rounding, saturate))
        except ValueError as error:
            complaint = error
    if not rows:
        raise complaint
    return rows


class Quantized:
    """A matrix whose elements share scales.

    elements       float32, m x k (k filled up to whole groups where the row has a transform): numbers of the element
                   format
    codes          the same as storage words, uint8 (element formats of up to 8 bits), else None
    scales         float32, one for each block
    scale_codes    the same as storage words where their format has 8 bits, else None
    tensor_scale   a factor of the whole matrix (NVFP4), else 1
    block          (lines, k) of a block
    element_format, scale_format
    """

    elements: Array
    codes: Array | None
    scales: Array
    scale_codes: Array | None

    def __init__(self, name: str, fields: dict[str, Any], kind: Any) -> None:
        self.name = name
        self.element_format: Format = fields["element"]
        self.scale_format: Format = fields["scale_format"]
        self.tensor_scale: float = fields["tensor_scale"]
        self.block: tuple[int, int] = fields["block"]
        self._kind = kind
        for each in ("elements", "scales", "codes", "scale_codes"):
            value = fields.get(each)
            setattr(self, each, None if value is None else like(value, kind))
        self._values = fields["values"]

    def __repr__(self):
        return (f"<Quantized {self.name}: {tuple(self.elements.shape)} of {self.element_format.name}, "
                f"{tuple(self.scales.shape)} scales of {self.scale_format.name}, blocks of {self.block}>")


def quantize(x: ArrayLike, how: str, *, seed: int = 0, stream: int = 0) -> Quantized:
    """A matrix quantised along its last extent, by a named row (:func:`quantizations`): "mxfp8", "nvfp4", ...

    x    m x k numbers; of arrays with more extents the leading ones are one, m. Those of float64 enter the rule's
         arithmetic, which is float32's, so that an element under a scale that is a power of two is rounded once;
         ValueError for one beyond float32
    how  the row's name. Every rule of scales, elements and transforms is a field of its row
         (softfloat/quantization/quantization.hpp says whose arithmetic each is)

    Returns a Quantized. Stochastic rows draw element (i, j) as number i * k + j of (seed, stream).

    >>> q = ulplab.quantize(weights, "nvfp4")
    >>> ulplab.dequantize(q)                       # what the codes stand for, float32
    """
    array = array_of(x)
    matrix = array.reshape(-1, array.shape[-1]) if array.ndim != 2 and array.ndim > 0 else array
    return Quantized(how, _core.quantize(matrix, how, natural(seed, "seed"), natural(stream, "stream")), x)


def dequantize(quantized: Quantized) -> Array:
    """What a Quantized stands for, float32, m x k: element * scale, rounded to fp32, times the tensor's scale. A
    transform is not undone. TypeError for what is no Quantized."""
    if not isinstance(quantized, Quantized):
        raise TypeError(f"dequantize takes what ulplab.quantize gave, not a {type(quantized).__name__}")
    return like(quantized._values, quantized._kind)


def quantizations() -> dict[str, str]:
    """The rows that :func:`quantize` knows: a dictionary from the name to what it is."""
    return dict(_core.quantizations())


def functions() -> list[str]:
    """The names of the correctly rounded functions: each is a function of this package, too (ulplab.exp, ...)."""
    return _core.function_names()


def evaluate(name: str, x: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even", *,
             round: bool = False) -> Array:
    """A function of each number, correctly rounded to a format.

    name    one of :func:`functions`
    x       numbers of any shape
    format  that of argument and result; x's own by default (float16: fp16, float32: fp32)
    round   round x to the format first; otherwise a number that lies off its grid is a ValueError that names it

    Returns an array of x's shape: float16 for float16 where that holds the format, else float32. ValueError for a format
    that float32 does not hold.
    """
    given = numbers_of(x)
    if format is None and given.dtype == numpy.float64:
        format = "fp32"
    result = _core.evaluate(name, given, format, rounding, bool(round))
    if result.ndim == 0 and not isinstance(x, numpy.ndarray) and like(result, x) is result:
        return result.item()
    return like(result, x)


class _Function(Protocol):
    def __call__(self, x: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even", *,
                 round: bool = False) -> Array: ...


def _function(name: str) -> _Function:
    def function(x, format=None, rounding="nearest_even", *, round=False):
        return evaluate(name, x, format, rounding, round=round)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x), correctly rounded to a format; ulplab.evaluate says what the arguments are."
    return function


exp, expm1, log, log1p = map(_function, ("exp", "expm1", "log", "log1p"))
sin, cos, tanh, exp2, log2 = map(_function, ("sin", "cos", "tanh", "exp2", "log2"))
sigmoid, erf, gelu, softplus = map(_function, ("sigmoid", "erf", "gelu", "softplus"))
rsqrt, cbrt = map(_function, ("rsqrt", "cbrt"))
