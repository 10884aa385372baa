"""How far a sampler and a trainer differ, from the log-probabilities that both gave."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any, Mapping

import numpy
from numpy.typing import ArrayLike

from . import _core
from ._analysis import _Printed
from ._kinds import array_of, natural

__all__ = ["Mismatch", "mismatch"]


class Mismatch(_Printed):
    """Gaps d = log-probability of B - that of A of the same tokens. Prints as `ulplab compare` does.

    equal             all log-probabilities are equal: 0 everywhere
    not_finite        {"a": ..., "b": ...}: None, or count and the first place (sequence, position); the figures are None
                      then
    rms, max, mean    of d
    kl                of A against B, mean of exp(d) - 1 - d (k3)
    outside, capped   shares of ratios exp(d) outside 0.8 to 1.2, and above 2
    argmax_changes    share of tokens whose most probable token differs, where both sides have it; else None
    sequence_ratio    exp(sum of d) of each sequence
    growth            rms of d by position; growth_exponent: e of rms ~ position^e; first_difference: a position
    outliers          the largest gaps; top_share: what the largest 1 % of tokens make of the sum of squares
    model             layers, width and vocabulary that the causes are for
    causes            name, expected_rms, verdict, reason of each (docs/agreement.md says how they are computed)
    """

    sequences: int
    tokens: int
    equal: bool
    not_finite: dict[str, dict[str, int] | None]
    rms: float | None
    max: float | None
    mean: float | None
    kl: float | None
    outside: float | None
    capped: float | None
    argmax_changes: float | None
    sequence_ratio: list[float] | None
    first_difference: int | None
    growth_exponent: float | None
    top_share: float | None
    token_effect: dict[str, float] | None
    in_bf16: dict[str, bool] | None
    logit_deviation: float | None
    growth: list[dict[str, float]]
    outliers: list[dict[str, float]]
    model: dict[str, int]
    causes: list[dict[str, Any]]

    def __init__(self, text: str, fields: str) -> None:
        self._text = text
        self.__dict__.update(json.loads(fields))

    def to_json(self) -> str:
        """The figures as JSON text."""
        return json.dumps({name: value for name, value in vars(self).items() if not name.startswith("_")})

    def __repr__(self):
        return self._text.rstrip("\n")


def mismatch(a: str | os.PathLike[str] | Mapping[str, ArrayLike], b: str | os.PathLike[str] | Mapping[str, ArrayLike], *,
             layers: int = 32, width: int = 4096, vocabulary: int | None = None) -> Mismatch:
    """How far two engines differ on the same tokens: the one that wrote them (A) and the one that trains (B).

    a, b        .jsonl files ({"tokens": [...], "logprobs": [...], "argmax": [...]} per line, a sequence each), .npz files
                with arrays of these names and optionally `mask`, or dictionaries of such arrays
    layers, width, vocabulary   of the model that wrote the tokens, for the causes; vocabulary: the largest token + 1

    DataError: files that are missing or damaged, other lengths, a token that differs (its sequence and position).

    >>> print(ulplab.mismatch("rollout.jsonl", "trainer.jsonl", layers=24, width=896))
    """
    sizes = [natural(x, name) for x, name in ((layers, "layers"), (width, "width"), (vocabulary or 0, "vocabulary"))]
    with tempfile.TemporaryDirectory() as folder:
        files = [_file_of(x, name, pathlib.Path(folder)) for x, name in ((a, "A"), (b, "B"))]
        try:
            text, fields = _core.mismatch(*files, *sizes)
        except _core.DataError as error:
            raise _core.DataError(str(error).replace(f"{folder}{os.sep}", "")) from None
        return Mismatch(text.replace(f"{folder}{os.sep}", ""), fields)


def _file_of(given, name, folder):
    if not hasattr(given, "items"):
        return os.fspath(given)
    with open(folder / f"{name}.npz", "wb") as file:
        arrays = {key: array_of(x, key) for key, x in given.items()}
        numpy.savez(file, **{key: x.astype("u1" if x.dtype.kind == "b" else x.dtype, order="C")
                             for key, x in arrays.items()})
    return str(folder / f"{name}.npz")
