"""PyTorch in a matrix unit's arithmetic: unmodified modules, forward and backward, on the CPU.

    with ulplab.torch.emulate("h100", recipe="mixed_fp16") as run:
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
    print(run.report())

docs/python.md says what is emulated, and how it compares with the trainer of the library.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import torch

from ._private import check_version, watch_amp

check_version(torch.__version__)  # before modules that need what another version lacks
from . import _core, _search  # noqa: E402
from ._attention import checked_tiling
from ._backends import backend_of, with_ieee
from ._diagnose import Diagnosis, diagnose
from ._emulation import Emulation
from ._run import active, paused
from ._export import export
from ._invariance import Invariance, invariance_of, rule_of
from ._kinds import natural, real
from ._native import Native
from ._numbers import Quantized, dequantize, quantize
from ._products import OrderLike, UnitLike
from ._record import record, replay
from ._report import Report
from ._search import Search, search
from ._shadow import Against, beside
from ._sides import SideMismatch, side_mismatch

watch_amp()

__all__ = ["emulate", "autocast", "Emulation", "Native", "Report", "recipes", "GradScaler", "quantize_", "compare", "Comparison",
           "paused", "export", "search", "Search", "diagnose", "Diagnosis", "record", "replay", "Against", "invariance",
           "Invariance", "mismatch", "SideMismatch"]


#: What others call some recipes.
ALIASES = {"bf16_pure": "pure_bf16", "bf16_true": "pure_bf16", "bf16_mixed": "bf16", "fp16_mixed": "mixed_fp16",
           "16_mixed": "mixed_fp16", "fp16_true": "fp16", "fp16_pure": "fp16", "16_true": "fp16"}


def recipes() -> dict[str, str]:
    """The recipes: a dictionary from the name to what it is (`ulplab train --help`)."""
    return dict(_core.recipes())


def emulate(unit: UnitLike = "h100", recipe: str | None = None, *, order: OrderLike = None, fp32: Sequence[str] = (),
            modules: Mapping[str, Any] | None = None, attention: Mapping[str, Any] | None = None, strict: bool = True,
            seed: int = 0, against: str | None = None, bound: float = 0.05) -> Emulation | Native:
    """A context in which PyTorch computes as a card does: every matrix product is that of a matrix unit.

    unit    a GPU ("h100", "a100.wmma"), a unit's key ("sm_90:wgmma.fp16.fp32"), a file that describes one, "ieee" (each
            step rounded, in a written order) or "eigen" (fast, in no promised order)
    recipe  None: the tensors' own types decide. Products of float16, bfloat16 and float8 tensors (torch._scaled_mm) are
            those of the unit's rows, of float32 tensors IEEE's or TF32's, as torch.backends.cuda.matmul.allow_tf32 says;
            a result is rounded once to its type. Other operations on float16 and bfloat16 compute in fp32 and round once.
            A name: tensors stay float32 and carry the recipe's formats, "mixed_fp16", "bf16", "tf32", "fp8", "mxfp8",
            "nvfp4", ... (:func:`recipes`; also bf16_mixed, bf16_true, fp16_mixed, ...), by the trainer's own code
    order   an ulplab.Order for the products without block scales, split-k say
    fp32    what is computed in fp32: operations ("layer_norm", "softmax", "pow", ...) and modules, by patterns of their
            paths ("lm_head", "model.layers.*.mlp.gate"). Its results are fp32 and flow on so, up to the next product
            or cast
    modules from patterns of modules' paths to dictionaries: the "unit", "order" and, under a recipe, "recipe" of their
            products
    attention   how torch.nn.functional.scaled_dot_product_attention is computed by tiles, as fused kernels do: a dictionary
            of "tile", "split", "rescale_threshold", "p_format" (:func:`ulplab.attention`)
    strict  refuse an operation that may multiply inside and cannot be emulated (NotImplementedError with its name); else
            PyTorch computes it, and it is listed in the report
    seed    of stochastic rounding
    against "fp32": each operation is computed in fp32, too, beside; ``run.report().against`` says where the numbers part:
            errors by module and operation (the first above ``bound``), updates lost, addends absorbed, saturations,
            merged positions, averages that stand still, norms that became 0

    Emulated: mm, addmm, bmm, baddbmm, matrix-vector products, convolutions (one to three dimensions, transposed ones too)
    and attention, forward and backward; point-wise operations, sums and norms; optimizers, over lists of tensors and fused
    ones, too. torch.autocast("cuda") and torch.amp.GradScaler("cuda") act inside as on a card, also those that were made
    before the block, after ``import ulplab.torch``; a scaler that is older and switched off is listed. fp64, integers,
    complex and sparse tensors are PyTorch's own, and are listed. Of blocks inside each other the innermost computes.

    ``run.report()`` has products, over- and underflows by module, the first value that is not finite with the user's
    line and a remedy, and lost updates. The bits do not depend on the number of threads.

    ValueError: no such unit or recipe, a unit that lacks the products, a pattern that no module has (when the block ends).
    TypeError: a CUDA tensor.
    """
    if against not in (None, "fp32"):
        raise ValueError(f"against is {against!r}; give 'fp32' or None")
    name = str(recipe).replace("-", "_")
    kind, options = (Native, ()) if recipe is None else (Emulation, (ALIASES.get(name, name),))
    run = (beside(kind) if against else kind)(backend_of(unit), *options, order, fp32, strict, seed, modules)
    run.bound, run.attention = bound, checked_tiling(attention)
    if against and attention is not None:
        raise ValueError("attention by tiles has no fp32 run beside; give against or attention")
    return run


@contextlib.contextmanager
def autocast(unit: UnitLike = "h100", dtype: torch.dtype = torch.float16, **options: Any) -> Iterator[Emulation | Native]:
    """emulate(unit, **options) with a region of torch.autocast("cuda", dtype) in it: CUDA's lists of functions.

    Matrix products, convolutions and attention take their operands in ``dtype``; powers, exponentials, logarithms, sums,
    norms, softmax and losses theirs in fp32; additions of two types give the wider. Gives the emulation.
    """
    with emulate(unit, **options) as run, torch.autocast("cuda", dtype):
        yield run


class GradScaler:
    """A loss scale that moves as a published scaler's does: "pytorch", "apex", "fairseq", "megatron", "deepspeed", ...

    The interface of torch.cuda.amp.GradScaler, on the CPU: scale, unscale_, step, update, get_scale, state_dict.

    skipped   steps in a row that were skipped up to now
    remark    None, or a sentence where no scale helps: gradients are not finite at a scale of 1 or less, or NaN, without an
              infinity that a smaller scale could remove, step after step. It is also a RuntimeWarning, once
    """

    skipped: int
    remark: str | None

    SKIPS = 5  # in a row, and the scale no more than 1024, before NaN gradients are no matter of the scale

    OPTIONS = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")

    def __init__(self, dialect: str = "pytorch", **options: float) -> None:
        """options: init_scale, growth_factor, backoff_factor, growth_interval, in place of the dialect's. ValueError
        that lists the dialects, TypeError that lists the options."""
        unknown = sorted(set(options) - set(self.OPTIONS))
        if unknown:
            raise TypeError(f"a loss scale has no {', '.join(unknown)}; there are {', '.join(self.OPTIONS)}")
        self._scale = _core.LossScale(dialect, {name: natural(value, name) if name == "growth_interval" else
                                                real(value, name) for name, value in options.items()})
        self._found: dict[int, bool] = {}
        self._nan = self._infinite = False
        self.skipped, self.remark = 0, None

    def scale(self, loss: Any) -> Any:
        """loss * scale, in fp32; of a list, each."""
        _search.scaler_used = True
        if isinstance(loss, (list, tuple)):
            return type(loss)(self.scale(each) for each in loss)
        return loss * self.get_scale()

    def get_scale(self) -> float:
        return self._scale.value if _search.forced_scale is None else _search.forced_scale

    def unscale_(self, optimizer: torch.optim.Optimizer) -> None:
        """Divides the optimizer's gradients by the scale, and looks for infinities and NaNs."""
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() was called twice since the last update()")
        found = False
        with paused(), torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is None:
                        continue
                    if not bool(torch.isfinite(parameter.grad).all()):
                        found = True
                        self._nan |= bool(torch.isnan(parameter.grad).any())
                        self._infinite |= bool(torch.isinf(parameter.grad).any())
                    parameter.grad.mul_(1.0 / self.get_scale())
        self._found[id(optimizer)] = found

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), unless a gradient is infinite or NaN; returns what it returns, or None."""
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self) -> None:
        """Moves the scale by the dialect's rule. RuntimeError where the dialect gives up."""
        skips = any(self._found.values())
        self._remark_on(skips)
        self._found.clear()
        if _search.forced_scale is None:
            self._scale.update(skips)

    def _remark_on(self, skips):
        """Says what a row of skipped steps is where it is not a matter of the scale."""
        self.skipped = self.skipped + 1 if skips else 0
        scale, nan, infinite = self.get_scale(), self._nan, self._infinite
        self._nan = self._infinite = False
        if not skips or self.remark or _search.forced_scale is not None:
            return
        if scale > 1 and (infinite or not nan or self.skipped < self.SKIPS or scale > 1024):
            return
        self.remark = (f"{self.skipped} steps in a row were skipped, and gradients are {'NaN' if nan else 'infinite'} at a loss "
                       f"scale of {scale:g}: not a matter of the scale. ulplab.torch.diagnose(step) finds where they come "
                       "from; a model whose gradients are not finite in fp32 either has the fault in itself")
        warnings.warn(self.remark, RuntimeWarning, stacklevel=3)

    def state_dict(self) -> dict[str, float]:
        return self._scale.state()

    def load_state_dict(self, state: dict[str, float]) -> None:
        self._scale.load(state)


def quantize_(model: torch.nn.Module, how: str, *, only: Callable[[str, torch.nn.Module], bool] = lambda name, module:
              isinstance(module, (torch.nn.Linear, torch.nn.Conv2d))) -> dict[str, Quantized]:
    """Replaces weights by the numbers that their codes in a block-scaled format stand for, in place.

    how    a row of ulplab.quantizations(): "nvfp4", "mxfp8", ...; weights are quantised along their inputs
    only   only(name, module) says which modules

    Returns a dictionary from the weights' names to their ulplab.Quantized.
    """
    found = {}
    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        if not isinstance(weight, torch.Tensor) or not only(name, module):
            continue
        with paused(), torch.no_grad():
            matrix = weight.detach().reshape(weight.shape[0], -1)
            quantized = found[f"{name}.weight" if name else "weight"] = quantize(matrix, how)
            values = dequantize(quantized)[:, :matrix.shape[1]]
            weight.copy_(values.reshape(weight.shape))
    return found


class Comparison:
    """Losses of one training in several recipes.

    losses   a dictionary from the recipe to its list of losses
    reports  the same to its Report
    """

    losses: dict[str, list[float]]
    reports: dict[str, Report]

    def __init__(self, losses: dict[str, list[float]], reports: dict[str, Report]) -> None:
        self.losses = losses
        self.reports = reports

    def __repr__(self):
        lines = [f"{'recipe':<20} {'first loss':>12} {'last loss':>12} {'overflows':>10} {'underflows':>11}"]
        for name, losses in self.losses.items():
            report = self.reports[name]
            ends = (losses[0], losses[-1]) if losses else (float("nan"),) * 2
            lines.append(f"{name:<20} {ends[0]:>12.6g} {ends[1]:>12.6g} {report.overflows:>10} {report.underflows:>11}")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """The losses as lines (matplotlib); returns the axes."""
        from matplotlib import pyplot

        ax = ax or pyplot.subplots()[1]
        for name, losses in self.losses.items():
            ax.plot(range(len(losses)), losses, label=name)
        ax.set_xlabel("step")
        ax.set_ylabel("loss")
        ax.legend()
        return ax


def compare(train: Callable[[Emulation], Iterable[float]], recipes: Sequence[str], *, unit: UnitLike = "h100", seed: int = 0,
            strict: bool = True, **options: Any) -> Comparison:
    """Runs a training in several recipes from the same random numbers.

    train    train(run) trains once, from scratch, and returns its losses, an iterable of numbers; run is the emulation
    recipes  names; fp32 products, which matrix units lack, are added in a written order ("ieee")
    options  of emulate

    Returns a Comparison.
    """
    losses: dict[str, list[float]] = {}
    reports: dict[str, Report] = {}
    for name in recipes:
        torch.manual_seed(seed)
        with emulate(with_ieee(backend_of(unit)), name, strict=strict, **options) as run:
            losses[name] = [float(loss) for loss in train(run)]
            reports[name] = run.report()
    return Comparison(losses, reports)


def invariance(module: torch.nn.Module, shapes: Iterable[int | tuple[int, ...]], *, rule: Any = None, unit: str = "h100",
               recipe: str | None = None, seed: int = 0) -> Invariance:
    """Whether a row's bits depend on the rows that are computed with it, where a kernel's order is chosen by shape.

    module  a module with Linear layers that returns a tensor; the first extent is the batch
    shapes  shapes of inputs that differ in the first extent, or that extent alone (of a module of rows): 1, 8, 64, ...
    rule    which order a product of m x k by k x n takes: a function of (m, n, k) that returns a split_k or an Order, or a
            dictionary from (m, n, k), or from the largest m, to these. By default split-k that fills 132 processors with
            tiles of 128 x 128. The rule is for Linear layers; every other product has one order
    unit, recipe   as in :func:`emulate`, but without a recipe a module of fp32 computes in bf16; seed: of the inputs

    Returns an :class:`Invariance`: which rows change, the smallest counter-example, and what each fixed order that the rule
    takes would give: whether bits still change, and the error against fp64.

    ValueError: dropout that is on, no Linear layer, shapes that do not fit, an order that a layer cannot take.

    >>> print(ulplab.torch.invariance(torch.nn.Linear(4096, 512), [1, 16, 256, 1024]))
    """
    if recipe is None and all(x.dtype is torch.float32 for x in module.parameters()):
        recipe = "bf16"
    return invariance_of(module, shapes, rule_of(rule), lambda order: emulate(unit, recipe, order=order, strict=False),
                         seed)


def mismatch(model: torch.nn.Module, tokens: torch.Tensor, *, a: Mapping[str, Any], b: Mapping[str, Any]) -> SideMismatch:
    """How far two arithmetics of one model differ in the log-probabilities of the same tokens: a sampler (a) and a trainer
    (b), say.

    model   gives logits of (sequences, places, vocabulary), or an object with .logits; dropout off
    tokens  integers, sequences x places: each token but the first is judged given those before it
    a, b    dictionaries of unit, recipe, order, fp32, attention (as in :func:`emulate`), batch (sequences that are computed
            together), dtype (to which this side casts the model) and modules (a dictionary from a module's path, or its
            end, to what differs there: {"lm_head": {"recipe": "fp32"}}). Without a recipe a model of float16 or bfloat16
            computes by its tensors' types, and one of float32 by "bf16"; with one it is cast to float32, unless it is so

    Returns a :class:`SideMismatch`: the figures of ulplab.mismatch, the distance of both from fp64, the first operation whose
    bits differ with its line, the growth by module, routers' flips, by_module(), remedies() and plot().

    ValueError: sides with unknown fields, tokens beyond the vocabulary, no logits, dropout that is on, a path that matches
    nothing, an order or attention that a unit cannot take.

    >>> found = ulplab.torch.mismatch(model, tokens, a={"order": ulplab.Order(split_k=4)}, b={})
    >>> found.rms, found.first, found.remedies()
    """
    return side_mismatch(emulate, model, tokens, a, b)
