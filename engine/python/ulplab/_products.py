"""The table of matrix units, and their products."""

from __future__ import annotations

import html
import math
import os
import re
from typing import Any, Mapping, NamedTuple, NoReturn, Union

import numpy
from numpy.typing import ArrayLike

from . import _core
from ._core import Format
from ._kinds import Array, FormatLike, array_of, is_of_python, like, real

__all__ = ["Unit", "Units", "units", "unit", "Order", "matmul", "dot"]


class Unit:
    """A row of the table of matrix units, or a unit that a file describes.

    key, architecture, instruction, input, output   "sm_90:wgmma.fp16.fp32" and its parts
    kind            "floating_point", "integer" or "block_scaled"
    a_format, b_format, accumulator, instruction_k
    scale_format, scale_block                       of block-scaled units
    evidence, proof                                 what proves the row
    description     its parameters as JSON text, which matmul(unit=...) takes, too
    """

    key: str
    architecture: str
    instruction: str
    input: str
    output: str
    kind: str
    a_format: str | None
    b_format: str | None
    accumulator: str
    instruction_k: int
    scale_format: str | None
    scale_block: int | None
    evidence: str
    proof: str
    description: str

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)

    def __repr__(self):
        return f"<Unit {self.key}: {self.evidence}>"

    def __str__(self):
        return self.key


class Units(list[Unit]):
    """Units; prints as a table."""

    def __repr__(self):
        return "\n".join(f"{each.key:<42} {each.kind:<15} k{each.instruction_k:<4} {each.evidence}"
                         for each in self) or "no units"

    def _repr_html_(self):
        return "<pre>" + html.escape(repr(self)) + "</pre>"


_all: list[Unit] | None = None


def units(contains: str = "", *, kind: str | None = None) -> Units:
    """The units whose keys contain a text ("sm_90", "fp16.fp32"), or of a GPU ("h100"), all by default; of one kind, if one
    is named. ValueError with the nearest keys where there are none.

    >>> [each.key for each in ulplab.units("sm_80:mma.tf32")]
    ['sm_80:mma.tf32.fp32']
    """
    global _all
    if _all is None:
        _all = [Unit(fields) for fields in _core.unit_rows()]
    if not any(contains in each.key for each in _all):
        contains = _core.architecture_of_gpu(contains) or _core.unit_row(contains)["key"]  # or its ValueError
    return Units(each for each in _all if contains in each.key and kind in (None, each.kind))


def unit(name: str | os.PathLike[str]) -> Unit:
    """The unit of that key, or of a file that describes one (docs/unit_files.md). ValueError with the nearest keys."""
    return Unit(_core.unit_row(_text_of(name)))


class _Order(NamedTuple):
    split_k: int = 1
    piece_k: int = 0
    slice_k: int = 0
    tile_k: int = 0
    sum_format: Any = None
    promote: int = 0
    total_format: Any = None
    reduction: str = "ascending"


_old_fields = {"promote_every": "promote", "narrow_sums": "sum_format, the accumulator's format"}


class Order(_Order):
    """In which order a kernel adds the products (softfloat/matrix_units/product.hpp).

    split_k        pieces of k, each summed from zero (the first from c); their sums are added in fp32
    piece_k        > 0: pieces of that many k, the last one the rest, in place of split_k equal ones
    slice_k        > 0: the pieces take turns, that many k each
    tile_k         > 0: a piece begins with its remainder modulo tile_k (CUTLASS's kernels for Ampere)
    sum_format     the pieces' sums are rounded to this format ("bf16", a Format), and so is their total at each step
    promote        > 0: after that many k the running sum goes into an fp32 accumulator (FP8 products: 128)
    total_format   the format of the total where it is another: sum_format="bf16", total_format="fp32" is cuBLAS's
                   reduction OUTPUT_TYPE, total_format="bf16" alone its INPLACE
    reduction      the pieces' sums are added "ascending", "descending" or "pairwise"
    """

    __slots__ = ()

    def __new__(cls, split_k: int = 1, piece_k: int = 0, slice_k: int = 0, tile_k: int = 0,
                sum_format: FormatLike | None = None, promote: int = 0, total_format: FormatLike | None = None,
                reduction: str = "ascending", **others: NoReturn) -> Order:
        for name in others:
            now = _old_fields.get(name)
            raise TypeError(f"an order has no {name}; " + (f"now: {now}" if now else
                                                           f"there are {', '.join(cls._fields)}"))
        return super().__new__(cls, split_k, piece_k, slice_k, tile_k, sum_format, promote, total_format, reduction)


UnitLike = Union[str, Unit, "os.PathLike[str]"]  # a key, a Unit, or a file that describes one
OrderLike = Union[Order, Mapping[str, int], None]


def _order(order):
    if order is None or type(order) is Order:
        return order
    if isinstance(order, dict):
        try:
            return Order(**order)
        except TypeError as error:
            raise ValueError(str(error)) from None
    raise TypeError(f"order is {order!r}; give ulplab.Order(...) or a dictionary of its fields")


def _text_of(unit):
    """A unit as the library takes it: its key, or its description."""
    if isinstance(unit, Unit):
        return unit.description if ":" not in unit.key else unit.key
    if isinstance(unit, os.PathLike):
        return os.fspath(unit)
    if not isinstance(unit, str):
        raise TypeError(f"unit is {unit!r}; give a key such as 'sm_90:wgmma.fp16.fp32' (ulplab.units() lists them)")
    return unit


def _rounding(round):
    if round is False or round is None:
        return None
    return "nearest_even" if round is True else round


def _require_no_sign(unit, *scales):
    """The scales of blocks are UE4M3 or E8M0: numbers and codes without a sign."""
    format = _core.unit_row(unit)["scale_format"]
    for each in scales:
        if each is None or format is None:
            continue
        if each.dtype.kind == "u":
            negative = each >> 7 if Format(format).has_sign and each.dtype.itemsize == 1 else numpy.zeros(1)
        else:
            negative = numpy.signbit(each.astype("f8")) & (each == each)
        if negative.any():
            raise ValueError("scales have no sign; give it to the elements")


def _scales(unit, scales, order, alpha, x, y):
    """(scales of a, scales of b, alpha): one line of scales for each row of a and each column of b, and of pairs with
    tensor scales their product."""
    if scales is None:
        return None, None, alpha
    both = []
    factor = numpy.float32(1)
    for each in scales:
        if isinstance(each, tuple):
            each, of_tensor = each
            factor *= numpy.float32(of_tensor)
            if alpha is not None:
                raise ValueError("alpha is the product of the tensor scales; give one of the two")
        both.append(None if each is None else array_of(each, "scales"))
    if factor != 1:
        alpha = float(factor)
    if _core.unit_row(unit)["kind"] == "block_scaled":
        _require_no_sign(unit, *both)
        return *both, alpha
    block = order.promote if order is not None and order.promote > 0 else _core.usual_scale_block
    for i, (given, lines) in enumerate(zip(both, (x.shape[-2] if x.ndim > 1 else 1, y.shape[-1] if y.ndim > 1 else 1))):
        if given is None:
            continue
        given = _core.decode(given, Format("e8m0")) if given.dtype == numpy.uint8 else given
        axis = -2 if i == 0 else -1
        if given.ndim > 1 and given.shape[axis] != lines and given.shape[axis] == -(-lines // block):
            given = numpy.repeat(given, block, axis).take(range(lines), axis)
        both[i] = given
    return *both, alpha


def _batch(x, shape):
    """x broadcast to the batch's extents and flattened to one."""
    if x.ndim <= 2 or shape == ():
        return x
    wide = numpy.broadcast_to(x, shape + x.shape[-2:])
    return wide.reshape((math.prod(shape),) + x.shape[-2:])


def _batches(x, y):
    """The extents of the batch that two stacks of matrices broadcast to."""
    try:
        return numpy.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise ValueError(f"a is a batch of {x.shape[:-2]} matrices and b of {y.shape[:-2]}; batches broadcast as "
                         "numpy.matmul's do") from None


def _operand(x, name, unit):
    """An operand as an array. Python's integers are numbers of the unit's type."""
    array = array_of(x, name)
    if is_of_python(x) and array.dtype.kind in "ib":
        return array.astype(numpy.int32 if _core.unit_row(unit)["kind"] == "integer" else numpy.float64)
    return array


def _in_own_extents(message, arrays, batch):
    """An error's message with the element that it names, a(0, 1), in the extents of the array as it was given."""
    found = re.match(r"([abc])\(([\d, ]+)\)(.*)", message, re.DOTALL)
    if not found or arrays.get(found[1]) is None:
        return message
    array = arrays[found[1]]
    *index, row, column = map(int, found[2].split(", "))
    place = (*(numpy.unravel_index(index[0], batch) if index and batch else ()), row, column)
    if array.ndim == 1:
        place = place[-2:-1] if found[1] == "b" else place[-1:]
    place = place[max(len(place) - array.ndim, 0):]
    place = [0 if extent == 1 else int(i) for i, extent in zip(place, array.shape)]
    return f"{found[1]}({', '.join(map(str, place))}){found[3]}"


def matmul(a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None, *, unit: UnitLike, order: OrderLike = None,
           alpha: float | None = None, beta: float | None = None,
           scales: tuple[ArrayLike | None, ArrayLike | None] | None = None, round: bool | str = False,
           saturate: bool = False, policy: str | None = None, packed: bool = False,
           scheme: str | None = None) -> Array:
    """A * B + C as a matrix unit computes it, bit for bit.

    a, b      m x k and k x n, in any order and with any strides; leading extents are batches and broadcast as
              numpy.matmul's do, and a vector is a row or a column as there. float16, float32, float64 or the input
              format's codes as unsigned integers; for integer units int8, uint8, int16 or int32
    c         m x n (or a batch of it), what the first instruction accumulates to; with alpha or beta the epilogue's C
    unit      a key ("sm_90:wgmma.fp16.fp32"; ulplab.units() lists them), a Unit, or a file FILE.json that describes one
    order     ulplab.Order(...) or a dictionary of its fields: split-k, promotion, ... By default one chain in ascending k
    alpha, beta  D = alpha * sum + beta * C, an fp32 epilogue. beta = 0: C is not read, as in BLAS
    scales    (scales of a, scales of b), m x (k / block) and (k / block) x n; None: all are 1. Of block-scaled units
              numbers or codes of their format. Of others float32 numbers, or UE8M0 codes as uint8, multiplied in at each
              promotion (block: order's promote, 128 without); blocks may also be squares, (m / block) x (k / block). A
              pair (scales, tensor scale) has NVFP4's second level, and the tensor scales' product is alpha
    round     True, or the name of a rounding: operands off the input format's grid are rounded to it first. Otherwise
              they are a ValueError that names the element
    saturate  with round: too large operands become the largest finite number
    policy    a policy set used instead of the table's: "A" to "E" or "H"
    packed    a and b are uint8, two codes of FP4 in each byte along k, the first in the low half
    scheme    several of the unit's products make one of fp32 numbers: "bf16x3", "bf16x6", "bf16x9", "3xtf32", or of fp32
              or fp64 numbers: "ozaki1", "ozaki2", with the slices or the moduli "ozaki1:5". a, b and c are float32, or
              any of them float64, and so is the result; c is added last. It goes with unit and order alone

    Returns an array of the accumulator's type (float32, float16, float64 or int32), a tensor if a or b is one. The
    bits are those of `ulplab matmul` and do not depend on the number of threads. Ctrl-C ends it within a second.

    TypeError: arrays of another type. ValueError: shapes that do not fit, an unknown unit, an order that does not fit.
    """
    if type(unit) is not str:
        unit = _text_of(unit)
    x = a if type(a) is numpy.ndarray else _operand(a, "a", unit)
    y = b if type(b) is numpy.ndarray else _operand(b, "b", unit)
    z = c if c is None or type(c) is numpy.ndarray else _operand(c, "c", unit)
    if packed:
        if Format(_core.unit_row(unit)["a_format"]).storage_bits != 4:
            raise ValueError(f"packed codes are of a format of 4 bits; {unit} takes {_core.unit_row(unit)['a_format']}")
        x, y = _core.with_halves(x, True), _core.with_halves(y.swapaxes(-1, -2), True).swapaxes(-1, -2)
    if order is not None:
        order = _order(order)
    a_scales = b_scales = how = None
    if scales is not None:
        a_scales, b_scales, alpha = _scales(unit, scales, order, alpha, x, y)
    if round is not False:
        how = _rounding(round)
    if alpha is not None or beta is not None:
        alpha, beta = real(alpha, "alpha"), real(beta, "beta")
    if x.ndim == 2 and y.ndim == 2:
        d = _core.matmul(x, y, z, unit, order, alpha, beta, a_scales, b_scales, how, saturate, policy, scheme)
        return d if x is a and y is b else like(d, a, b)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("a or b is a single number; matmul takes vectors, matrices and batches of them")
    row, column = x.ndim == 1, y.ndim == 1
    given = {"a": x, "b": y}
    x = x[None, :] if row else x
    y = y[:, None] if column else y
    shape = _batches(x, y)
    try:
        d = _product_of_batches(x, y, z, shape, row, column, (unit, order, alpha, beta), (a_scales, b_scales),
                                (how, saturate, policy, scheme))
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ValueError(_in_own_extents(str(error), given, shape)) from None
    return like(d, a, b)


def _product_of_batches(x, y, z, shape, row, column, what, scales, how):
    """The product of stacks of matrices; row and column: a was a vector, b was one."""
    if z is not None:
        if row and z.ndim >= 1 and not column:
            z = z[..., None, :]
        elif column and not row:
            z = z[..., :, None]
        elif row and column:
            z = z.reshape(z.shape + (1, 1))
        if z.ndim > 2:
            z = _batch(z, shape)
    wide = [None if each is None or each.ndim <= 2 else _batch(each, shape) for each in scales]
    if any(each is not None for each in wide) and shape != ():
        d = numpy.stack([_core.matmul(*(each if each is None or each.ndim <= 2 else each[i] for each in
                                        (_batch(x, shape), _batch(y, shape), z)), *what,
                                      *(w[i] if w is not None else s for w, s in zip(wide, scales)), *how)
                         for i in range(math.prod(shape))])
    else:
        d = _core.matmul(_batch(x, shape), _batch(y, shape), z, *what, *scales, *how)
    d = d.reshape(shape + d.shape[-2:])
    if column:
        d = d[..., 0]
    if row:
        d = d[..., 0, :] if not column else d[..., 0]
    return d


def dot(a: ArrayLike, b: ArrayLike, c: float = 0.0, *, unit: UnitLike, order: OrderLike = None,
        round: bool | str = False) -> Any:
    """One dot product c + a[0] b[0] + ... as a matrix unit computes it: a number of the accumulator's type.

    a, b  k numbers each, on the input format's grid (or round=True); the other arguments as in :func:`matmul`.
    """
    key = _text_of(unit)
    x, y, z = _operand(a, "a", key), _operand(b, "b", key), _operand(c, "c", key)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"a has shape {x.shape} and b {y.shape}; give two vectors of one length")
    if z.size != 1:
        raise ValueError(f"c has shape {z.shape}; give one number")
    if z.dtype.kind == "f" and is_of_python(c) and _core.unit_row(key)["kind"] == "integer" and z == numpy.rint(z):
        z = z.astype(numpy.int32)  # the default, 0.0, say
    return matmul(x, y, z.reshape(()), unit=unit, order=order, round=round)[()]
