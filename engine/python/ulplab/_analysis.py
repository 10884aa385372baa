"""Bounds, explanations, discovery, recordings and inspection: what the commands of these names answer, as objects."""

from __future__ import annotations

import html
import json
import os
import pathlib
import tempfile
import textwrap
from typing import Any, Callable, Iterable

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._kinds import Array, FormatLike, array_of, real
from ._products import OrderLike, Unit, UnitLike, _order, _scales, _text_of, unit as unit_of

__all__ = ["Bound", "bound", "Explanation", "explain", "ProductExplanation", "Discovery", "discover", "Recording",
           "recordings", "Inspection", "inspect"]


def _spec(unit):
    return _text_of(unit)


class _Printed:
    """An object with a text, which notebooks show with fixed width."""

    def _repr_html_(self):
        return f"<pre>{html.escape(repr(self))}</pre>"


class Bound(_Printed):
    """How far a unit's product D can lie from the exact one, |D - s| <= gamma * S + eta with S = |c| + sum of |a b|.

    model, k, level     what was bounded, and how: "apriori", "magnitudes" or "running"
    groups, gamma, eta  of the a-priori bound, None with scales; shares: what gamma is made of
    max_absolute, max_relative, at   the largest bound, relative to S, and its element
    expected_bias       D - s relative to S on average, an estimate; None for units unlike the table's
    overflow            "excluded", "possible ...", "unknown ..."
    atol, rtol          the tolerance that a test of such products may use
    bounds              with operands: the bound of each element, float64, m x n
    violations          with d: how many of its elements lie outside; largest_ratio: the largest error / bound
    """

    model: str
    k: int
    level: str
    groups: int
    gamma: float | None
    eta: float | None
    shares: dict[str, float]
    max_absolute: float | None
    max_relative: float | None
    at: list[int] | None
    expected_bias: float | None
    overflow: str
    atol: float | None
    rtol: float | None
    violations: int | None
    scheme: str  # with scheme=, and how many products of the unit it makes
    products: int

    def __init__(self, text: str, bounds: NDArray[numpy.float64] | None = None, largest_ratio: float | None = None) -> None:
        self.__dict__.update(json.loads(text))
        self.bounds = bounds
        self.largest_ratio = largest_ratio

    def __repr__(self):
        shares = ", ".join(f"{name} {share / self.gamma:.0%}" for name, share in self.shares.items() if share > 0)
        by_scheme = "scheme" in self.__dict__
        how = f"{self.scheme}, {self.products} products" if by_scheme else f"{self.groups} groups in a chain"
        head = [f"{self.model}, k = {self.k}, with scales"] if self.gamma is None else [
            f"{self.model}, k = {self.k}: {how}", f"gamma      {self.gamma:.4g} ({shares})", f"eta        {self.eta:.4g}"]
        lines = [*head, f"level      {self.level}",
                 f"largest    {_text(self.max_absolute)} absolute, {_text(self.max_relative)} of S"
                 + (f", at {tuple(self.at)}" if self.at else ""),
                 f"expected   {_text(self.expected_bias)} of S on average (an estimate)", f"overflow   {self.overflow}",
                 f"tolerance  atol {_text(self.atol)}, rtol {_text(self.rtol)}"]
        if self.violations is not None:
            lines.append(f"D          {self.violations} elements outside their bounds; the largest error is "
                         f"{self.largest_ratio:.4g} of its bound")
        return "\n".join(lines)


def _text(number):
    return "unknown" if number is None else f"{number:.4g}"


def bound(unit: UnitLike, a: ArrayLike | None = None, b: ArrayLike | None = None, c: ArrayLike | None = None, *,
          k: int | None = None, max_a: float | None = None, max_b: float | None = None, max_c: float | None = None,
          d: ArrayLike | None = None, level: str | None = None, against: UnitLike = "exact", order: OrderLike = None,
          alpha: float | None = None, beta: float | None = None, nonnegative: bool = False, round: bool = False,
          policy: str | None = None, scheme: str | None = None,
          scales: tuple[ArrayLike | None, ArrayLike | None] | None = None) -> Bound:
    """How far a unit's product can lie from the exact one: for any operands of a length k, or for these operands.

    unit     a floating-point unit, as in matmul; of fp64 units a, b, c and d are float64
    k        with max_a, max_b, max_c where the largest magnitudes are known: a bound for all such operands
    a, b, c  m x k, k x n, m x n: a bound for each element. level "running" looks at the unit's own partial sums (the
             default where the unit has it), "magnitudes" at the operands' magnitudes, "apriori" at S alone
    d        a result to be judged: Bound.violations counts its elements outside their bounds
    against  what the tolerance compares D with: "exact", "fp64" (sums in any order) or another unit
    scheme   of a product by a scheme, as in matmul: with a, b, c and d, or k (of ozaki1 and ozaki2 in fp64) and max_a ...,
             and order alone. Bound has its products, too
    scales   as in matmul; then there is no gamma, and D is compared with the exact product

    ValueError: integer units (exact), shapes, numbers off the grid without round.

    >>> ulplab.bound("sm_90:wgmma.fp16.fp32", k=4096).gamma
    0.00014495849609375
    """
    given, alpha, beta = _order(order), real(alpha, "alpha"), real(beta, "beta")
    if (a is None) != (b is None) or (a is None) == (k is None):
        raise ValueError("give either k or both a and b")
    if k is not None and (c is not None or d is not None):
        raise ValueError("c and d belong to a and b")
    if scheme is not None:
        if level or against != "exact" or alpha is not None or beta is not None or nonnegative or round or policy \
                or scales is not None:
            raise ValueError("the bound of a scheme takes unit, order, and a, b, c, d or k, max_a, max_b, max_c; "
                             "leave the rest out")
        if k is not None:
            return Bound(_core.scheme_bound_of_k(_spec(unit), scheme, k, max_a, max_b, max_c, given))
        a, b, c, d = (None if x is None else array_of(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"), (d, "d")))
        return Bound(*_core.scheme_bound_of_arrays(_spec(unit), scheme, a, b, c, d, given))
    if k is not None:
        return Bound(_core.bound_of_k(_spec(unit), k, max_a, max_b, max_c, level or "", given, alpha, beta, nonnegative,
                                      policy))
    arrays = [None if x is None else array_of(x, name) for x, name in ((a, "a"), (b, "b"), (c, "c"), (d, "d"))]
    a_scales, b_scales, alpha = _scales(_spec(unit), scales, given, alpha, *arrays[:2])
    return Bound(*_core.bound_of_arrays(_spec(unit), *arrays, level or "", _spec(against), given, alpha, beta,
                                        nonnegative, round, policy, a_scales, b_scales))


class Explanation(_Printed):
    """One dot product of a unit, step by step. Prints as the picture.

    text        the picture: every group with its aligned terms, what is cut, the sum and its rounding
    value       the unit's result; exact: the exact value as text
    steps       fused units: a dictionary for each group: terms (k, sign, significand, exponent, aligned, cut; k = -1 is
                c), largest_exponent, fraction_bits, sum (in units of 2^(largest_exponent - fraction_bits)), result
    candidates  other units, orders and loops with their results: (name, value, bits, error in ulps), the unit first
    matching    of these the names of those that give `given`, where a result was given
    """

    def __init__(self, fields: dict[str, Any], unit: str, given: float | None) -> None:
        self.unit = unit
        self.text: str = fields["text"]
        self.evidence: str = fields["evidence"]
        self.exact: str | None = fields.get("exact")
        self.steps: list[dict[str, Any]] = fields.get("steps", [])
        self.candidates: list[tuple[str, float, str, float]] = fields.get("candidates", [])
        self.value = self.candidates[0][1] if self.candidates else None
        self.given = given
        self.matching = [] if given is None else [
            name for name, value, _, _ in self.candidates
            if value == given or (value != value and given != given)]

    def __repr__(self):
        text = f"{self.unit}\n{textwrap.fill('evidence: ' + self.evidence, 110, subsequent_indent='  ')}\n\n{self.text}"
        if self.exact is not None:
            text += f"exact  {self.exact}\n"
        if self.candidates:
            text += f"\n{'way':<52} {'bits':>10} {'value':>16} {'error/ulp':>10}\n"
            for name, value, bits, error in self.candidates:
                mark = "  = the given result" if name in self.matching else ""
                text += f"{name:<52} {bits:>10} {value:>16.9g} {error:>10.3f}{mark}\n"
        return text.rstrip("\n")


class ProductExplanation(_Printed):
    """Which units, orders, epilogues and output formats give a whole D. Prints as the command does.

    verdict     "explained"; "explained as a fault: ..." (operands that are not these give D); "within the bound but not
                explained"; "outside the bound"
    agree       ways that give all of D; missing_k: how many of k a fault leaves out
    candidates  best first, a dictionary for each set of bits: unit, order, split_k, epilogue, output, fault, matches, of,
                ties (ways of the same bits), separated_from_next (elements that tell it from the next)
    tried       ways that were computed
    """

    candidates: list[dict[str, Any]]
    tried: int

    def __init__(self, text: str, fields: str) -> None:
        self.text = text
        self.__dict__.update(json.loads(fields))

    def __repr__(self):
        return self.text.rstrip("\n")


def explain(a: ArrayLike, b: ArrayLike, c: Any = 0.0, *, unit: UnitLike, d: Any = None,
            scales: tuple[ArrayLike, ArrayLike] | None = None, alpha: float | None = None, beta: float | None = None,
            round: bool = False, policy: str | None = None) -> Any:
    """A dot product step by step, or who computed a whole product.

    a, b vectors of k numbers      the picture of c + a[0] b[0] + ... by the unit; with d, a number, also which other
                                   units, orders and loops give it. Returns an Explanation
    a, b, d matrices               which unit, order of k, epilogue and output format give D; c is a matrix then, or 0.
                                   Returns a ProductExplanation
    The other arguments as in matmul.

    >>> print(ulplab.explain([1, 2**-14], [1, 2**-12], unit="sm_80:mma.fp16.fp16"))
    """
    alpha, beta = real(alpha, "alpha"), real(beta, "beta")
    x, y = array_of(a, "a"), array_of(b, "b")
    if x.ndim == 2:
        if d is None:
            raise ValueError("a whole product is explained from its result; give d, or vectors a and b")
        *scales, alpha = _scales(_spec(unit), scales, None, alpha, x, y)
        z = None if not isinstance(c, (numpy.ndarray, list)) and not hasattr(c, "shape") else array_of(c, "c")
        return ProductExplanation(*_core.explain_product(_spec(unit), x, y, array_of(d, "d"), z, alpha, beta, round,
                                                         policy, *scales))
    kind = unit_of(unit).kind
    numbers = (lambda v: v) if kind == "integer" else (lambda v: v.astype("f8") if v.dtype.kind in "ib" else v)
    z = numbers(numpy.asarray(c).reshape(1))
    a_scales, b_scales = (None, None) if scales is None else (
        None if each is None else numbers(array_of(each, "scales")) for each in scales)
    fields = _core.explain_dot(_spec(unit), numbers(x), numbers(y), z, a_scales, b_scales, round, policy)
    return Explanation(fields, str(unit), None if d is None else float(d))


class Discovery(_Printed):
    """What was found of a unit.

    operands       what it reads of a and b where that is less than all: fraction_bits, rounding, subnormals of "a" and "b";
                   piece_bits where it splits them; evidence. None: all is read. What follows is of operands as they are read
    summation_tree, fused_terms, fraction_bits, alignment, rounding, output_fraction_bits, uses_subnormal_inputs, ...
                   each found by a question of its own; None: these formats cannot ask
    evidence       a sentence for each
    rows           rows of the table with these parameters; agreeing: those that also agree on random dot products
    description    the unit as JSON text, which matmul(unit=...) and unit files take, or None
    undecided      changes of the description that no dot product that was asked tells apart
    deterministic  whether the unit answered alike when asked twice
    """

    operands: dict[str, Any] | None
    summation_tree: str
    fused_terms: int
    fraction_bits: int | None
    alignment: str | None
    addend_alignment: str | None
    rounding: str | None
    output_fraction_bits: int
    uses_subnormal_inputs: bool
    evidence: list[str]
    rows: list[str]
    agreeing: list[str]
    description: str | None
    undecided: list[str]
    deterministic: bool

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    def __repr__(self):
        if not self.deterministic:
            return "not deterministic: asked twice, the unit gave two different results; what was found may be wrong"
        names = ("summation_tree", "fused_terms", "fraction_bits", "alignment", "addend_alignment", "rounding",
                 "output_fraction_bits", "uses_subnormal_inputs", "rows", "agreeing", "deterministic")
        lines = [f"{name:<22} {getattr(self, name)}" for name in names]
        if self.operands:
            lines = [f"{'operands ' + name:<22} {self.operands[name]}" for name in ("a", "b", "piece_bits")] + lines
        if not self.agreeing:
            lines.append(f"{'description':<22} {'found' if self.description else 'none'}")
        return "\n".join(lines)


def discover(dot: Callable[[Any, Any, Any], Any], *, input: FormatLike = "fp16", output: FormatLike = "fp32", k: int = 16,
             b_input: FormatLike | None = None, blocks: int = 2000, seed: int = 1, fit: bool = True) -> Discovery:
    """Finds what a function computes: which terms it adds at once, what it cuts, how it rounds, which unit it is.

    dot     dot(a, b, c): a and b arrays of k numbers (float16 for fp16, else float32, float64 for fp64), c a number;
            it returns one number of the output's format. An exception that it raises ends the search
    input, b_input, output   the formats of a, b and c; k: the length
    blocks  random dot products on which rows, and a description, must agree, each asked twice
    fit     seek a description where no row agrees

    >>> ulplab.discover(lambda a, b, c: ulplab.dot(a, b, c, unit="sm_80:mma.fp16.fp32")).agreeing
    ['sm_80:mma.fp16.fp32', 'sm_86:mma.fp16.fp32', 'sm_89:mma.fp16.fp32']
    """
    if not callable(dot):
        raise TypeError(f"dot is a {type(dot).__name__}; give a function of (a, b, c)")
    function = lambda a, b, c: dot(a, b, c)  # noqa: E731: any callable becomes a function
    return Discovery(_core.discover(function, input, output, k, b_input, blocks, seed, fit))


class Recording:
    """Dot products and the results that hardware gave.

    path, gpu, input, unit    unit: the key of the row that it is compared with, or None
    a, b, c, d                of the published layout: storage words, rows x k and one a row
    equal, of, first_difference   after verify: results (or digests) with the same bits, all of them, and the first that
                                  differs, as text
    """

    path: str
    gpu: str
    input: str
    unit: str | None
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]
    d: NDArray[Any]
    equal: int
    of: int
    first_difference: str | None

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)

    @property
    def verified(self) -> bool:
        return getattr(self, "of", 0) > 0 and self.equal == self.of

    def __repr__(self):
        counts = f", {self.equal}/{self.of}" if hasattr(self, "of") else ""
        return f"<Recording {self.gpu} {self.input}: {self.unit}{counts}>"


def recordings(path: str | os.PathLike[str], *, verify: bool = False) -> list[Recording]:
    """The recordings below a path: .recording files, or folders in the published layout.

    With verify each is computed again in software and compared: Recording.verified.

    DataError: nothing there, or a file that is cut short or damaged.
    """
    return [Recording(fields) for fields in _core.recordings(os.fspath(path), verify)]


class Inspection(_Printed):
    """What tensors hold and what formats lose of them: the fields of `ulplab inspect --json`.

    tensors, skipped, all, loss_scale
    """

    tensors: list[dict[str, Any]]
    skipped: list[dict[str, Any]]
    all: dict[str, Any]
    loss_scale: dict[str, Any]

    def __init__(self, text: str) -> None:
        self.__dict__.update(json.loads(text))

    def __repr__(self):
        lines = []
        for tensor in self.tensors + ([{"name": f"all {len(self.tensors)} tensors", **self.all}]
                                      if len(self.tensors) > 1 else []):
            lines.append(f"{tensor['name']}: {tensor['count']} numbers, {tensor['zeros']} zeros, "
                         f"{tensor['infinities']} infinities, {tensor['nans']} NaNs, absolute maximum "
                         f"{tensor['absmax']:.6g}")
            for name, loss in tensor["formats"].items():
                if loss:
                    lines.append(f"  {name:<12} {loss['lost']} lost, {loss['subnormal']} subnormal, {loss['overflow']} "
                                 f"overflow, SNR {_decibels(loss)}")
        scale = self.loss_scale
        lines.append(f"loss scale for {scale['target']}: 2^{scale['smallest']} to 2^{scale['largest']}, recommended "
                     f"2^{scale['recommended']}")
        return "\n".join(lines)


def _decibels(loss):
    return "no error" if loss["snr_db"] is None else f"{loss['snr_db']:.4g} dB"


def inspect(*what: Any, formats: Iterable[str] = ("fp16", "bf16", "e4m3", "e5m2", "mxfp8", "nvfp4"),
            target: str = "fp16") -> Inspection:
    """What formats lose of tensors, and which loss scales fit (docs/inspect.md).

    what  files and folders (.npy, .npz, .safetensors), arrays, or dictionaries from names to arrays (a state_dict)

    DataError: a file that is missing or damaged, or no tensor of floating-point numbers.
    """
    if not what:
        raise TypeError("inspect takes files, folders, arrays or dictionaries of arrays; give one")
    files = [os.fspath(each) for each in what if isinstance(each, (str, os.PathLike))]
    arrays = {}
    for index, each in enumerate(x for x in what if not isinstance(x, (str, os.PathLike))):
        named = each if hasattr(each, "items") else {f"array{index}": each}
        arrays.update({str(name): numpy.ascontiguousarray(array_of(x, str(name))) for name, x in named.items()})
    if not arrays:
        return Inspection(_core.inspect(files, list(formats), target))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "arrays.npz"
        with open(file, "wb") as out:
            numpy.savez(out, **arrays)
        return Inspection(_core.inspect(files + [str(file)], list(formats), target))
