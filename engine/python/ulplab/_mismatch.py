"""How far a sampler and a trainer differ, from the log-probabilities that both gave."""

import json
import os
import pathlib
import tempfile

import numpy

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

    def __init__(self, text, fields):
        self._text = text
        self.__dict__.update(json.loads(fields))

    def to_json(self):
        """The figures as JSON text."""
        return json.dumps({name: value for name, value in vars(self).items() if not name.startswith("_")})

    def __repr__(self):
        return self._text.rstrip("\n")


def mismatch(a, b, *, layers=32, width=4096, vocabulary=None):
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
