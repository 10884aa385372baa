"""Sums over ranks and attention by tiles, as libraries compute them."""

from __future__ import annotations

import math
from typing import Iterable

import numpy
from numpy.typing import ArrayLike

from . import _core
from ._analysis import _Printed, _spec
from ._kinds import FormatLike, array_of, like, real
from ._numbers import round as round_numbers
from ._products import UnitLike

__all__ = ["Reduction", "reduce", "Attention", "attention"]


class Reduction(_Printed):
    """A sum over ranks, the same bits on every rank.

    sum        as the ranks hold it, in the shape of a part
    exact      the sum of the parts in fp64; magnitude: the sum of their magnitudes
    error      sum - exact, and bound: what its magnitude cannot exceed (float64; infinite where the sum is)
    max_error, rms_error   relative to the magnitude; max_ratio: the largest error / bound
    height     additions on the longest way of a part into the sum
    not_finite numbers of the sum that are infinite or NaN
    """

    def __init__(self, algorithm, format, ranks, node, chunk, shape, fields):
        self.algorithm, self.format, self.ranks = algorithm, str(format), ranks
        self._node, self._chunk, self._shape = node, chunk, shape
        total, exact, magnitude, bound, self.height, self.not_finite = fields
        self.sum, self.exact, self.magnitude, self.bound = (each.reshape(shape)
                                                            for each in (total, exact, magnitude, bound))
        with numpy.errstate(invalid="ignore"):
            self.error = self.sum - self.exact
        finite = numpy.isfinite(self.error) & (self.magnitude > 0)
        relative = numpy.abs(self.error[finite]) / self.magnitude[finite]
        self.max_error = float(relative.max(initial=0.0))
        self.rms_error = float(numpy.sqrt(numpy.mean(relative**2))) if relative.size else 0.0
        inside = finite & (self.bound > 0)
        self.max_ratio = float((numpy.abs(self.error[inside]) / self.bound[inside]).max(initial=0.0))

    def _place(self, element):
        index = element if isinstance(element, tuple) else (element,)
        if len(index) != len(self._shape):
            index = numpy.unravel_index(element, self._shape)
        at = int(numpy.ravel_multi_index(index, self._shape))
        return _core.reduce_order(self.algorithm, self._node, self._chunk, self.ranks, math.prod(self._shape), at)

    def order(self, element=0):
        """In which order the ranks' numbers of an element are added: "((1 + 2) + 3) + 0"."""
        return self._place(element)[0]

    def owner(self, element=0):
        """The rank that has an element after the reduce-scatter, or None (trees have none)."""
        return self._place(element)[1]

    def __repr__(self):
        places = {"ring": "the chunk that an element lies in: another length of the buffer, chunk or number of ranks is "
                          "another order",
                  "tree": "the number of ranks and which of the two trees an element goes through",
                  "two-level": "the chunk that an element lies in, and the ranks of a node"}[self.algorithm]
        lines = [f"{self.algorithm} over {self.ranks} ranks in {self.format}, {self.height} additions in a row",
                 f"error      {self.max_error:.4g} at most, {self.rms_error:.4g} rms, of the sum of magnitudes",
                 f"bound      the largest error is {self.max_ratio:.4g} of its bound",
                 f"bits       equal on all ranks and in every call; the order depends on {places}"]
        if self.not_finite:
            lines.append(f"not finite {self.not_finite} numbers")
        return "\n".join(lines)


def reduce(parts: Iterable[ArrayLike], algorithm: str = "ring", *, format: FormatLike = "fp32", node: int = 8,
           chunk: int | None = None, round: bool = False) -> Reduction:
    """The sum of an array over ranks as a collective library forms it: every partial sum is rounded to a format.

    parts      one array for each rank (up to 4096), of one shape: a list, or an array whose first extent is the ranks
    algorithm  "ring": reduce-scatter and all-gather around a ring; "tree": NCCL's double binary tree; "two-level": a ring
               in every node, then over the nodes
    format     of the parts and of the partial sums: "fp32", "bf16", "fp16", ...
    node       two-level: ranks of a node
    chunk      numbers that travel together; by default a buffer is one chunk for each rank (trees: two)
    round      round parts off the format's grid first; otherwise they are a ValueError that names rank and element

    Returns a :class:`Reduction`. Its `bound` is proven (engine/analysis/collective_sum.hpp).

    >>> ulplab.reduce(numpy.ones((512, 4), "f4"), "ring", format="bf16").sum
    array([256., 256., 256., 256.], dtype=float32)
    """
    given = list(parts)
    if not given:
        raise ValueError("parts has no rank; give one array for each")
    arrays, seen = [], {}
    for rank, part in enumerate(given):
        if id(part) not in seen:
            x = array_of(part, f"part {rank}")
            if round or x.dtype.kind != "f" or x.dtype.itemsize > 4:
                x = round_numbers(x.astype("f8") if x.dtype.kind != "f" else x, format if round else "fp32")
            seen[id(part)] = numpy.ascontiguousarray(x, dtype=numpy.float32)
        arrays.append(seen[id(part)])
        if arrays[rank].shape != arrays[0].shape:
            raise ValueError(f"rank 0 has shape {arrays[0].shape} and rank {rank} has {arrays[rank].shape}; give one shape")
    shape = arrays[0].shape
    fields = _core.reduce([x.reshape(-1) for x in arrays], algorithm, format, node, chunk or 0)
    result = Reduction(algorithm, format, len(arrays), node, chunk or 0, shape, fields)
    result.sum = like(result.sum, given[0])
    return result


class Attention(_Printed):
    """O of attention, and what is needed to go back.

    out       O in fp32, in q's leading extents; a kernel rounds it to the operands' format at the end
    lse       the logarithm of the sum of the exponentials, of each query
    rescaled  how often a row's sum had to be rescaled
    """

    def __init__(self, arguments, how, leading, fields, given):
        self._arguments, self._how, self._leading, self._given = arguments, how, leading, given
        out, lse, self.rescaled = fields
        self._out, self._lse = out, lse
        self.out = like(out.reshape(leading + out.shape[1:]), *given)
        self.lse = like(lse.reshape(leading + lse.shape[1:]), *given)

    def backward(self, d_out):
        """(dQ, dK, dV) from the gradient of O, which is on the operands' grid (or round=True), as FlashAttention-2 adds:
        dQ over tiles of keys, dK and dV over blocks of 64 queries, in ascending order, in the unit's products."""
        d = array_of(d_out, "d_out")
        if d.shape != tuple(self.out.shape):
            raise ValueError(f"d_out has shape {d.shape} and O {tuple(self.out.shape)}; give one of O's shape")
        found = _core.attention_backward(*self._arguments, self._how, self._out, self._lse,
                                         d.reshape(self._out.shape))
        return tuple(like(x.reshape(tuple(of.shape)), *self._given) for x, of in zip(found, self._given))

    def tiles(self, query, head=0):
        """What one query met, a dictionary for each tile: split, first_key, keys, masked, largest_key, largest_score,
        reference (what exponents refer to), factor (of what was summed before), sum, lost (weights that P's format
        rounds to 0), share (of the final sum)."""
        leading = self._leading or (1,)
        flat = int(numpy.ravel_multi_index(head, leading)) if isinstance(head, tuple) else head
        if not 0 <= flat < math.prod(leading):
            raise ValueError(f"there is no head {head}; the leading extents are {leading}")
        return _core.attention_tiles(*self._arguments, self._how, flat, query)

    def explain(self, query, head=0):
        """Which keys the query met in which tile, in words."""
        tiles = self.tiles(query, head)
        splits = f"{self._how['split']} splits" if self._how["split"] > 1 else "one split"
        lines = [f"query {query}: {sum(t['keys'] for t in tiles)} keys in {len(tiles)} tiles of {self._how['tile']}, "
                 f"{splits}, P in {self._how['p_format'] or 'the format of the operands'}"]
        for i, tile in enumerate(tiles):
            first = i == 0 or tiles[i - 1]["split"] != tile["split"]
            if first and self._how["split"] > 1:
                lines.append(f"split {tile['split']}")
            keys = f"  keys {tile['first_key']} to {tile['first_key'] + tile['keys'] - 1}"
            if tile["largest_key"] is None:
                lines.append(f"{keys}: all masked, nothing changes")
                continue
            words = [f"largest score {tile['largest_score']:.6g} (key {tile['largest_key']})",
                     f"exponents refer to {tile['reference']:.6g}"]
            if tile["masked"]:
                words.append(f"{tile['masked']} masked")
            if tile["largest_score"] > tile["reference"]:
                words.append("not rescaled, below the threshold")
            elif not first and tile["factor"] != 1:
                words.append(f"what was summed is multiplied by {tile['factor']:.6g}")
            words.append(f"sum {tile['sum']:.6g}, {tile['share']:.1%} of all weights")
            if tile["lost"]:
                words.append(f"{tile['lost']} weights become 0 in P's format")
            lines.append(f"{keys}: " + "; ".join(words))
        if self._how["split"] > 1:
            lines.append("splits are merged in ascending order by their logarithms")
        return "\n".join(lines)

    def __repr__(self):
        how = ", ".join(f"{name} {value}" for name, value in self._how.items() if name not in ("scale", "round"))
        return f"attention of {tuple(self.out.shape)} by {self._arguments[0]}: {how}; {self.rescaled} rescalings"


def attention(q: ArrayLike, k: ArrayLike, v: ArrayLike, *, unit: UnitLike = "sm_90:wgmma.bf16.fp32", tile: int = 64,
              split: int = 1, causal: bool = False, rescale_threshold: float = 0.0, p_format: FormatLike | None = None,
              scale: float | None = None, round: bool = False, policy: str | None = None) -> Attention:
    """softmax(scale * Q K^T) V as fused kernels compute it: by tiles of keys, in a matrix unit's products.

    q, k, v   (..., queries, head), (..., keys, head) and (..., keys, width), on the unit's input format (or round=True).
              Leading extents are batches and heads; q may have a multiple of the heads of k and v, as in
              grouped-query attention
    unit      a floating-point unit with fp32 sums: "sm_90:wgmma.bf16.fp32", "sm_80:mma.fp16.fp32", an FP8 unit
    tile      keys of a tile
    split     pieces of the keys, each attended to by itself and then merged (FlashDecoding)
    causal    key j is masked for query i < j, as PyTorch's is_causal does
    rescale_threshold   a row is rescaled where weights would exceed 2^this (FlashAttention-4: 8); 0: at each larger score
    p_format  the unnormalised weights P are rounded to it; by default the unit's input format
    scale     of the scores, by default 1 / sqrt(head)

    Returns an :class:`Attention`: out, lse, backward(d_out), explain(query). Exponentials are correctly rounded (a GPU's
    are approximate). One definition computes this and the model of the GPU's kernel
    (engine/analysis/tiled_attention.hpp); the bits do not depend on the number of threads.
    """
    arrays = [array_of(x, name) for x, name in ((q, "q"), (k, "k"), (v, "v"))]
    for x, name in zip(arrays, "qkv"):
        if x.ndim < 2:
            raise ValueError(f"{name} has shape {x.shape}; give (..., rows, width)")
    (*leading, heads), shared = ((1, *x.shape[:-2]) for x in arrays[:2])
    if arrays[2].shape[:-2] != arrays[1].shape[:-2] or tuple(leading) != shared[:-1] or heads == 0 or shared[-1] == 0 \
            or heads % shared[-1]:
        raise ValueError(f"q has leading extents {arrays[0].shape[:-2]}, k {arrays[1].shape[:-2]} and v "
                         f"{arrays[2].shape[:-2]}; they are equal, or q has a multiple of the heads")
    if not isinstance(tile, int) or not isinstance(split, int):
        raise TypeError("tile and split are integers: keys of a tile, and pieces of the keys")
    scale = real(scale, "scale") if scale is not None else 1 / math.sqrt(arrays[0].shape[-1] or 1)
    how = {"tile": tile, "split": split, "causal": bool(causal), "scale": scale, "p_format": p_format,
           "rescale_threshold": real(rescale_threshold, "rescale_threshold"), "round": bool(round)}
    flat = [x.reshape((-1,) + x.shape[-2:]) for x in arrays]
    arguments = (_spec(unit), policy, *flat)
    return Attention(arguments, how, arrays[0].shape[:-2], _core.attention(*arguments, how), (q, k, v))
