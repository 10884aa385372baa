"""Formats, rounding, codes, functions and quantisation."""

from __future__ import annotations

import decimal
import enum
import html
import math
from typing import Any, Protocol

import numpy
from numpy.typing import ArrayLike

from . import _core
from ._core import Format
from ._kinds import (PAIRS, Array, FormatLike, array_of, is_of_python, is_tensor, like, natural, numbers_of, straight_through,
                     text)

# Without round and format, which would hide Python's own: ulplab.round, ulplab.format.
__all__ = ["Format", "formats", "encode", "decode", "show", "Shown", "quantize", "dequantize", "Quantized",
           "quantizations", "functions", "evaluate", "Flags", "add", "subtract", "multiply", "divide", "fma", "sqrt",
           "remainder", "next_up", "next_down", "compare", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "exp2", "log2",
           "sigmoid", "erf", "gelu", "softplus", "rsqrt", "cbrt"]


def _html_table(rows):
    """Rows of texts, the first one the head, as a notebook shows them."""
    def line(cells, kind):
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in cells) + "</tr>"

    return "<table>" + line(rows[0], "th") + "".join(line(row, "td") for row in rows[1:]) + "</table>"


def format(name_or_precision: FormatLike | dict[str, Any] | list[Any] | int | None = None, emin: int | None = None,
           emax: int | None = None, **fields: Any) -> Format:
    """A number format.

    ``format("fp16")`` is the format of that name (:func:`formats` lists them), which may be another's name for it
    ("float16", "half", "e4m3fn") or a type of NumPy, ml_dtypes or PyTorch (torch.float8_e4m3fn). ``format(11, -14, 15)``
    has 11 significant bits and normal numbers from 2^-14 up to below 2^16, with subnormals, infinities and NaN.
    ``format("binary8p3se")`` is one of IEEE P3109's, ``format("mine.json")`` what a file describes, and
    ``format(exponent_bits=4, fraction_bits=3, specials="all_ones_nan")`` or a dictionary of these fields what they
    describe; a list, or ``format(values=[...])``, is a table of values, code by code (docs/format_files.md).

    ValueError: no such name, fields that make no format, or numbers outside fp64's range.
    """
    if fields:
        if name_or_precision is not None:
            raise TypeError("a format has fields, or a name alone")
        return Format(fields)
    if name_or_precision is None:
        raise TypeError("give a format's name, its fields, or its values")
    if (emin is None) != (emax is None):
        raise TypeError("a format has emin and emax both, or a name alone")
    if emin is None:
        return name_or_precision if isinstance(name_or_precision, Format) else Format(name_or_precision)
    return _core.custom_format(name_or_precision, emin, emax)


def _saturation(saturate):
    """P3109's name of the mode: True is SatFinite."""
    if isinstance(saturate, str):
        return saturate
    return "SatFinite" if saturate else "OvfInf"


def formats() -> dict[str, Format]:
    """The formats of hardware, widest first: a dictionary from the name to the Format. :func:`format` knows more of them
    (docs/format_files.md).

    >>> ulplab.formats()["e4m3"].largest
    448.0
    """
    return {name: Format(name) for name, _ in _core.format_names()}


def round(x: ArrayLike, format: FormatLike, rounding: str = "nearest_even", *, seed: int | None = None,
          saturate: bool | str = False, subnormals: bool = True, stream: int = 0, first: int = 0, random_bits: int = 32,
          out: Array | None = None) -> Array:
    """``x`` rounded to a format: an array of the same shape and order whose numbers lie on the format's grid.

    x            numbers of any shape: float16, float32, float64, signed integers, bfloat16, FP8 or FP4 (ml_dtypes), a CPU
                 tensor, a number
    format       a name ("fp16", "e4m3", "tf32", ...), a Format, or a type (torch.bfloat16)
    rounding     nearest_even, nearest_away, toward_zero, down, up, odd, or stochastic, stochastic_b, stochastic_c
                 (P3109's StochasticA, B and C), which need a seed; or others' names for them ("rne", "rtz", "cvt_rs")
    seed         of stochastic rounding. Element i, counted in memory order, draws number ``first + i`` of (seed,
                 stream): pieces of an array round as the whole does
    saturate     infinite results become the largest finite number (PTX: .satfinite, P3109: "SatFinite");
                 "SatPropagate": overflows do, infinities stay; "OvfInf" is False
    subnormals   False: results below the smallest normal number become zeros of their sign
    out          an array for the result, of x's type, shape and order (float32 or float64); it may be x

    Returns x's type where that holds every number of the format, else float32 or float64. Rounded once, whatever type
    carries it: the number that decode(encode(x)) gives, NaNs' signs included. The gradient of a tensor that requires one
    passes straight through.

    >>> ulplab.round(0.1, "e4m3")
    0.1015625
    """
    def rounded(x):
        result = _core.round(numbers_of(x), format, text(rounding, "rounding"), natural(seed, "seed"), _saturation(saturate),
                             bool(subnormals), natural(stream, "stream"), natural(first, "first"),
                             natural(random_bits, "random_bits"), None if out is None else array_of(out, "out"))
        return result.item() if _is_number(x, result) else like(result, x)

    if out is not None:
        rounded(x)
        return out
    return straight_through(x, rounded)


def _is_number(x, result):
    """Whether a result of x is to be a number of Python's, as x is."""
    return result.ndim == 0 and not isinstance(x, numpy.ndarray) and not is_tensor(x)


def encode(x: ArrayLike, format: FormatLike, rounding: str = "nearest_even", *, saturate: bool | str = False,
           packed: bool = False) -> Array:
    """The storage words of ``x`` in a format: uint8, uint16, uint32 or uint64, of the same shape.

    Numbers that the format does not have are rounded, once; NaNs keep sign and payload where the format has them. An
    overflow and an infinity keep their sign where the result is NaN: -1000 is 0xFF in e4m3.
    saturate     infinite results become the largest finite number, infinities too; or a mode as :func:`round` takes it
    packed       formats of 4 bits: two codes a byte along the last extent, the first in the low half, as
                 torch.float4_e2m1fn_x2 has them

    >>> ulplab.encode([1.0, -0.5], "fp16")
    array([15360, 47104], dtype=uint16)
    """
    codes = _core.encode(numbers_of(x), format, text(rounding, "rounding"), _saturation(saturate))
    return like(_core.with_halves(codes, False) if _in_pairs(format, packed) else codes, x)


def decode(codes: ArrayLike, format: FormatLike, *, packed: bool = False) -> Array:
    """The numbers of storage words: float32 (float64 for fp64, and other formats that float32 does not hold), of the same
    shape.

    packed   two codes of 4 bits in each byte, the first in the low half: twice as many numbers along the last extent.
             torch.float4_e2m1fn_x2 as the format says so, too
    TypeError: words of another width than the format's. Python's integers may be of any width.
    ValueError: a word above the format's codes, as a byte is that holds two codes of e2m1; the element is named.
    """
    array = array_of(codes, "codes")
    pairs = _in_pairs(format, packed)
    format = globals()["format"](_without_pairs(format))
    if is_of_python(codes) and array.dtype.kind in "iu":
        array = array.astype(numpy.uint8) if pairs and (array >> 8 == 0).all() else _words(array, format)
    if pairs:
        array = _core.with_halves(array, True)
    return like(_core.decode(array, format), codes)


def _without_pairs(format):
    return "e2m1" if str(format).removeprefix("torch.") == PAIRS else format


def _in_pairs(format, packed):
    """Whether codes lie in pairs."""
    if packed and globals()["format"](_without_pairs(format)).storage_bits != 4:
        raise ValueError("packed codes are of a format of 4 bits, such as e2m1")
    return bool(packed) or _without_pairs(format) is not format


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


    def _repr_html_(self):
        if len(self) == 1:
            return _html_table([("what", "value"), *self[0].items()])
        return _html_table([("format", "bits", "value", "error/ulp", "flags")] + [
            (each["format"], each["bits"], each["shortest"], each.get("error_in_ulps", "")[:10],
             ", ".join(each["flags"])) for each in self])


def show(value: str | float, format: FormatLike | None = None, rounding: str = "nearest_even", *,
         saturate: bool | str = False) -> Shown:
    """What a number becomes in each format, or in one: bits, neighbours, unit in the last place, error, flags.

    ``value`` is a number or a text as the command line takes it: "0.1", "0x1.8p-10", "inf", "bits:3C00".

    >>> ulplab.show("0.1", "fp16")[0]["bits"]
    '0x2E66'
    """
    given = value if isinstance(value, str) else _exact_text(value)
    text(rounding, "rounding")
    if format is not None:
        return Shown([_core.describe(given, format, rounding, _saturation(saturate))])
    rows = Shown()
    complaint = None
    for name, _ in _core.format_names():
        try:
            rows.append(_core.describe(given, name, rounding, _saturation(saturate)))
        except ValueError as error:
            complaint = error
    if not rows:
        raise complaint
    return rows


def _exact_text(value):
    """A number as text that stands for it exactly."""
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    number = float(value)
    if number != value and not math.isnan(number):
        raise TypeError(f"{value!r} is not a number of float64; give it as text")
    return "-nan" if math.isnan(number) and math.copysign(1, number) < 0 else number.hex()


class Quantized:
    """A matrix whose elements share scales.

    elements       float32, m x k (k filled up to whole groups where the row has a transform): numbers of the element
                   format
    codes          the same as storage words, uint8 (element formats of up to 8 bits, and any format without scales), else None
    scales         float32, one for each block
    scale_codes    the same as storage words where their format has 8 bits, else None
    zero_points    of rules whose elements are whole numbers, one for each block, int32, else None: an element is its code,
                   in two's complement, minus its block's zero point
    tensor_scale   a factor of the whole matrix (NVFP4), else 1
    block          (lines, k) of a block
    element_format, scale_format
    """

    elements: Array
    codes: Array | None
    scales: Array
    scale_codes: Array | None
    zero_points: Array | None

    def __init__(self, name: str, fields: dict[str, Any], kind: Any) -> None:
        self.name = name
        self.element_format: Format = fields["element"]
        self.scale_format: Format = fields["scale_format"]
        self.tensor_scale: float = fields["tensor_scale"]
        self.block: tuple[int, int] = fields["block"]
        self._kind = kind[:0] if is_tensor(kind) else None
        for each in ("elements", "scales", "codes", "scale_codes", "zero_points"):
            value = fields.get(each)
            if each == "zero_points" and value is not None:
                value = value.astype("i4")
            setattr(self, each, None if value is None else like(value, kind))

    def packed(self) -> Array:
        """The codes of 4 bits, two in each byte along a line, the first in the low half, as PyTorch stores FP4: uint8,
        m x k/2. ValueError for codes of another width and for an odd k."""
        if self.codes is None or self.element_format.storage_bits != 4 or self.codes.shape[1] % 2:
            raise ValueError(f"packed codes have 4 bits and an even k; these are {tuple(self.elements.shape)} of "
                             f"{self.element_format.name}")
        return self.codes[:, ::2] | self.codes[:, 1::2] << 4

    def __repr__(self):
        return (f"<Quantized {self.name}: {tuple(self.elements.shape)} of {self.element_format.name}, "
                f"{tuple(self.scales.shape)} scales of {self.scale_format.name}, blocks of {self.block}>")

    def _repr_html_(self):
        return _html_table([("what", "value"), ("row", self.name), ("elements", tuple(self.elements.shape)),
                            ("element format", self.element_format.name), ("scales", tuple(self.scales.shape)),
                            ("scale format", self.scale_format.name), ("block", self.block),
                            ("tensor scale", self.tensor_scale)])


def _rounded_alone(matrix, format, kind):
    """A matrix rounded to a number format, under a scale of 1."""
    elements = round(matrix, format)
    if not numpy.array_equal(elements.astype("f4"), elements, equal_nan=True):
        raise ValueError(f"elements of a Quantized are float32, which {format.name} exceeds; ulplab.encode has its codes")
    fields = {"element": format, "scale_format": Format("fp32"), "tensor_scale": 1.0, "block": matrix.shape,
              "elements": elements.astype("f4"), "scales": numpy.ones((1, 1), "f4"), "codes": encode(matrix, format)}
    return Quantized(format.name, fields, kind)


def quantize(x: ArrayLike, how: str | Format, *, element: FormatLike | None = None, block: tuple[int, int] | str | None = None,
             scale_format: FormatLike | None = None, seed: int = 0, stream: int = 0) -> Quantized:
    """A matrix quantised along its last extent, by a named row (:func:`quantizations`): "mxfp8", "nvfp4", ...

    x    m x k numbers; of arrays with more extents the leading ones are one, m. Those of float64 enter the rule's
         arithmetic, which is float32's, so that an element under a scale that is a power of two is rounded once;
         ValueError for one beyond float32
    how  the row's name, or a number format, to which numbers are rounded once, from whatever type, without scales: "e4m3",
         a Format. Every rule of scales, elements and transforms is a field of its row
         (docs/reference/quantizations.md says whose arithmetic each is)
    element, block, scale_format   instead of the row's: the format of the elements, the numbers that share a scale as
         (lines, k) or "1x128" (0: all there are), the format of the scales. Scales that become powers of two are rounded
         so that no element overflows, other ones to nearest

    Returns a Quantized. Stochastic rows draw element (i, j) as number i * k + j of (seed, stream).

    >>> q = ulplab.quantize(weights, "nvfp4")
    >>> ulplab.dequantize(q)                       # what the codes stand for, float32
    """
    array = numbers_of(x)
    matrix = array.reshape(-1, array.shape[-1]) if array.ndim != 2 and array.ndim > 0 else array
    if isinstance(how, Format) or (isinstance(how, str) and how not in quantizations()):
        try:
            format = globals()["format"](how)
        except ValueError:
            if str(how).endswith(".json"):
                raise
        else:
            if element is not None or block is not None or scale_format is not None:
                raise ValueError(f"{format.name} is a number format, which has no element, block and scale_format to change")
            return _rounded_alone(matrix, format, x)
    if isinstance(block, str):
        block = tuple(map(int, block.split("x")))
    if block is not None:
        if len(block) != 2 or min(block) < 0:
            raise ValueError(f"block is {block}; give (lines, k) or a text such as '1x128'; 0 stands for all there are")
        block = natural(block[0], "block"), natural(block[1], "block")
    return Quantized(how, _core.quantize(matrix, text(how, "how"), element, block, scale_format, natural(seed, "seed"),
                                         natural(stream, "stream")), x)


def dequantize(quantized: Quantized) -> Array:
    """What a Quantized stands for, float32, m x k: element * scale, rounded to fp32, times the tensor's scale. A
    transform is not undone. TypeError for what is no Quantized."""
    if not isinstance(quantized, Quantized):
        raise TypeError(f"dequantize takes what ulplab.quantize gave, not a {type(quantized).__name__}")
    return like(_core.dequantize(quantized.block, array_of(quantized.elements), array_of(quantized.scales),
                                 quantized.tensor_scale), quantized._kind)


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

    Returns an array of x's shape: x's type where that holds the format, else float32 or float64. ValueError for a format
    of more than 24 significant bits.
    """
    given = numbers_of(x)
    if format is None and given.dtype.kind in "fi" and given.dtype.itemsize == 8:
        format = "fp32"
    result = _core.evaluate(name, given, format, text(rounding, "rounding"), bool(round))
    return result.item() if _is_number(x, result) else like(result, x)


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


class Flags(enum.IntFlag):
    """IEEE 754's exceptions, as ``flags=True`` returns them: of one number such a flag, of an array uint8 with these bits."""

    INEXACT = 1
    UNDERFLOW = 2
    OVERFLOW = 4
    DIVIDE_BY_ZERO = 8
    INVALID = 16


def _operands(given, names, format):
    """(arrays of one shape, one of the type that decides)."""
    arrays = [numbers_of(x, name) for x, name in zip(given, names)]
    typed = [array for array, x in zip(arrays, given) if not is_of_python(x)] or arrays
    kinds = {array.dtype.name: name for array, name in zip(typed, names)}
    if format is None and len(kinds) > 1 and typed is not arrays:
        raise TypeError(f"the operands have types {', '.join(kinds)}; give format=, in which to compute")
    try:
        return numpy.broadcast_arrays(*arrays), typed[0]
    except ValueError:
        raise ValueError(f"operands have shapes {', '.join(str(array.shape) for array in arrays)}, which do not "
                         "broadcast") from None


def _result(values, given, flags):
    result, found = values
    number = result.ndim == 0 and not any(isinstance(x, numpy.ndarray) or is_tensor(x) for x in given)
    result = result.item() if number else like(result, *given)
    if not flags:
        return result
    return result, Flags(int(found)) if number else like(found, *given)


def _operate(name, given, format, rounding, *, seed=None, round=False, saturate=False, subnormals=True, flags=False):
    arrays, typed = _operands(given, "abc", format)
    return _result(_core.operate(name, arrays, typed, format, text(rounding, "rounding"), natural(seed, "seed"),
                                 _saturation(saturate), bool(subnormals), bool(round), bool(flags)), given, flags)


def add(a: ArrayLike, b: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
        **options: Any) -> Any:
    """a + b, rounded once to a format, element by element; shapes broadcast.

    format      of operands and result; that of the arrays by default (float64 for Python's numbers)
    rounding, seed, saturate   as in :func:`ulplab.round`
    round       True: operands are rounded to the format first; otherwise one that lies off its grid is a ValueError
    subnormals  False: subnormal operands and results are zeros of their sign
    flags       True: (result, flags), IEEE 754's exceptions of each element (:class:`ulplab.Flags`)

    The result has the arrays' type where that holds the format, else float32 or float64.

    >>> ulplab.add(1.0, 2.0**-24, "fp32", flags=True)
    (1.0, <Flags.INEXACT: 1>)
    """
    return _operate("add", (a, b), format, rounding, **options)


def subtract(a: ArrayLike, b: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
             **options: Any) -> Any:
    """a - b, as :func:`ulplab.add` adds."""
    return _operate("subtract", (a, b), format, rounding, **options)


def multiply(a: ArrayLike, b: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
             **options: Any) -> Any:
    """a * b, as :func:`ulplab.add` adds."""
    return _operate("multiply", (a, b), format, rounding, **options)


def divide(a: ArrayLike, b: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
           **options: Any) -> Any:
    """a / b, as :func:`ulplab.add` adds."""
    return _operate("divide", (a, b), format, rounding, **options)


def fma(a: ArrayLike, b: ArrayLike, c: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
        **options: Any) -> Any:
    """a * b + c, as :func:`ulplab.add` adds."""
    return _operate("fma", (a, b, c), format, rounding, **options)


def sqrt(a: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
         **options: Any) -> Any:
    """The square root of a, as :func:`ulplab.add` adds."""
    return _operate("sqrt", (a,), format, rounding, **options)


def remainder(a: ArrayLike, b: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
              **options: Any) -> Any:
    """IEEE 754's remainder: a - n * b, n the integer nearest to a / b, as :func:`ulplab.add` adds."""
    return _operate("remainder", (a, b), format, rounding, **options)


def next_up(a: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
            **options: Any) -> Any:
    """The least number above a, as :func:`ulplab.add` adds."""
    return _operate("next_up", (a,), format, rounding, **options)


def next_down(a: ArrayLike, format: FormatLike | None = None, rounding: str = "nearest_even",
              **options: Any) -> Any:
    """The greatest number below a, as :func:`ulplab.add` adds."""
    return _operate("next_down", (a,), format, rounding, **options)


def compare(a: ArrayLike, b: ArrayLike, format: FormatLike | None = None, *, round: bool = False,
            signaling: bool = False, flags: bool = False) -> Any:
    """-1, 0 or 1 where a is less than, equal to or greater than b; 2 where one is NaN: int8, shapes broadcast.

    signaling   True: any NaN raises invalid, as IEEE 754's < does; otherwise a signalling one alone
    format, round, flags   as in :func:`ulplab.add`
    """
    arrays, typed = _operands((a, b), "ab", format)
    return _result(_core.compare(arrays, typed, format, bool(round), bool(signaling), bool(flags)), (a, b), flags)
