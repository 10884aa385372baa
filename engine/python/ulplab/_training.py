"""Nets as data, trained by the library's own trainer."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import tempfile
from typing import Any, Iterable, Mapping, Union

import numpy
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._backends import backend_of
from ._kinds import array_of
from ._products import UnitLike

__all__ = ["train", "Training", "gradients", "nets"]

Net = Union[str, "os.PathLike[str]", Mapping[str, Any]]  # a name, a file, or what such a file holds
Weights = Union[Mapping[str, ArrayLike], str, "os.PathLike[str]", None]


class Training:
    """What a training gave.

    net, recipe, backend   the net as JSON text, and what it was trained in
    losses, loss_scales    float64, one per step; skipped: whether the loss scale skipped the step
    accuracy               share of right answers on examples that were not trained on
    weights                a dictionary of float32 arrays, with PyTorch's names
    trace_digest           SHA-256 of the trace: equal for equal bits of all losses and weights. It is what the command
                           `ulplab train` prints
    digests                of each parameter (parameters has the names) after each step
    remarks                what was converted where weights were read
    """

    net: str
    recipe: str
    backend: str
    losses: NDArray[numpy.float64]
    loss_scales: NDArray[numpy.float64]
    skipped: NDArray[numpy.bool_]
    accuracy: float
    weights: dict[str, NDArray[numpy.float32]]
    trace_digest: str
    digests: list[list[str]]
    parameters: list[str]
    remarks: list[str]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.__dict__.update(fields)
        self.losses = numpy.array(self.losses)
        self.loss_scales = numpy.array(self.loss_scales)
        self.skipped = numpy.array(self.skipped, bool)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the weights as .safetensors."""
        _core.write_weights(os.fspath(file), self.weights)

    def __repr__(self):
        return (f"<Training {self.recipe} on {self.backend}: {len(self.losses)} steps, loss {self.losses[-1]:.6g}, "
                f"{self.skipped.sum()} skipped, accuracy {self.accuracy:.1%}>")


def nets() -> dict[str, str]:
    """The nets by name: a dictionary from the name to what it is (docs/nets.md)."""
    return dict(_core.nets())


def train(net: Net, *, steps: int = 100, recipe: str = "mixed_fp16", unit: UnitLike | None = None, seed: int = 1,
          data: Any = None, labels: Any = None, weights: Weights = None, batch: int = 64, optimizer: str = "sgd",
          learning_rate: float = 0.05, eps: float | None = None, loss_scale: float | None = None,
          scaler: str | None = None, fp32: Iterable[str] = (), low: Iterable[str] = (), init: str = "default",
          loss_reduction: str = "mean", images: int = 2000) -> Training:
    """Trains a net that is data, as `ulplab train` does, with its bits.

    net       a name of :func:`nets`, a file FILE.json, its text, or the same as a dictionary (docs/nets.md);
              ulplab.torch.export makes one of a PyTorch model
    unit      as in ulplab.torch.emulate; None: the H100's Tensor Core, or fp32 for recipes whose products that lacks
    data      examples: an array (examples first) with labels, a class each; of a text, its bytes or tokens in a row; or
              files of these. None: examples made from the seed. The last tenth is for testing
    weights   where training starts: a dictionary of arrays with PyTorch's names, or a file; None: by the seed
    batch, images           examples a step, and generated ones to train on
    optimizer, learning_rate, eps, recipe, loss_scale (a constant), scaler (a rule), fp32, low (operations), init,
    loss_reduction, seed    as the options of `ulplab train`

    Ctrl-C ends it within a second. The interpreter's lock is released meanwhile.

    ValueError: unknown names, and numbers that make no sense. DataError: a net or files that do not fit.

    >>> ulplab.train("mlp", steps=50, recipe="bf16").losses[-1]
    """
    with _as_files(data=data, labels=labels, weights=weights) as files:
        return Training(_core.train(_text_of(net), {
            **files, "recipe": recipe, "unit": _backend(unit), "seed": seed, "steps": steps, "batch": batch,
            "optimizer": optimizer, "learning_rate": learning_rate, "eps": eps, "loss_scale": loss_scale,
            "scaler": scaler, "fp32": list(fp32), "low": list(low), "init": init, "loss_reduction": loss_reduction,
            "images": images}))


def gradients(net: Net, x: ArrayLike, dy: ArrayLike, *, weights: Weights = None, recipe: str = "mixed_fp16",
              unit: UnitLike | None = None, seed: int = 1, fp32: Iterable[str] = (), low: Iterable[str] = (),
              ) -> tuple[NDArray[numpy.float32], dict[str, NDArray[numpy.float32]]]:
    """A net's result y and the gradients of sum(y * dy), by the library's trainer.

    net, weights, recipe, unit, seed, fp32, low   as in :func:`train`
    x    examples: (count, ...) of the net's input shape; tokens as numbers
    dy   the gradient of the result, of its shape; it is rounded to the result's format

    Returns (y, gradients): float32 arrays; gradients is a dictionary with the weights' names, and "input" for x where
    that is no tokens. ValueError for another shape of dy.
    """
    with _as_files(weights=weights) as files:
        y, found, of_x = _core.net_gradients(_text_of(net), array_of(x, "x"), array_of(dy, "dy"), {
            **files, "recipe": recipe, "unit": _backend(unit), "seed": seed, "fp32": list(fp32),
            "low": list(low)})
    return y, found if of_x is None else {**found, "input": of_x}


def _backend(unit):
    return None if unit is None else backend_of(unit)


def _text_of(net):
    return json.dumps(net) if isinstance(net, dict) else os.fspath(net)


@contextlib.contextmanager
def _as_files(**given):
    """Names of files with these arrays; messages then name the arguments instead of files and options."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, value in given.items():
            if value is None or isinstance(value, (str, os.PathLike)):
                files[name] = None if value is None else os.fspath(value)
            elif name == "weights":
                files[name] = str(pathlib.Path(folder) / "weights.safetensors")
                _core.write_weights(files[name], {key: array_of(x, key) for key, x in value.items()
                                                  if not key.endswith("num_batches_tracked")})
            else:
                files[name] = str(pathlib.Path(folder) / f"{name}.npy")
                numpy.save(files[name], array_of(value, name))
        try:
            yield files
        except ValueError as error:
            text = str(error)
            for name, file in files.items():
                text = text.replace(str(file), name) if given[name] is not file else text
            text = re.sub(r"--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), text)
            raise type(error)(text) from None
