"""PyTorch in a matrix unit's arithmetic: unmodified modules, forward and backward, on the CPU.

    with ulplab.torch.emulate("h100", recipe="mixed_fp16") as run:
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
    print(run.report())

docs/python.md says what is emulated, and how it compares with the trainer of the library.
"""

import contextlib
import warnings

import torch

from . import _core
from ._backends import backend_of
from ._emulation import Emulation
from ._run import active, paused
from ._export import export
from ._kinds import natural, real
from ._native import Native
from ._numbers import quantize
from ._private import check_version
from ._report import Report

check_version(torch.__version__)

__all__ = ["emulate", "autocast", "Report", "recipes", "GradScaler", "quantize_", "compare", "Comparison", "paused", "export"]


#: What others call some recipes.
ALIASES = {"bf16_pure": "pure_bf16", "bf16_true": "pure_bf16", "bf16_mixed": "bf16", "fp16_mixed": "mixed_fp16",
           "16_mixed": "mixed_fp16", "fp16_true": "fp16", "fp16_pure": "fp16", "16_true": "fp16"}


def recipes():
    """The recipes: a dictionary from the name to what it is (docs/reference/commands.md, train --recipe)."""
    return dict(_core.recipes())


def emulate(unit="h100", recipe=None, *, order=None, fp32=(), modules=None, strict=True, seed=0):
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
    strict  refuse an operation that may multiply inside and cannot be emulated (NotImplementedError with its name); else
            PyTorch computes it, and it is listed in the report
    seed    of stochastic rounding

    Emulated: mm, addmm, bmm, baddbmm, matrix-vector products, convolutions (one to three dimensions, transposed ones too)
    and attention, forward and backward; point-wise operations, sums and norms; optimizers, over lists of tensors and fused
    ones, too. torch.autocast("cuda") and torch.amp.GradScaler("cuda") act inside as on a card. fp64, integers, complex
    and sparse tensors are PyTorch's own, and are listed.

    ``run.report()`` has products, over- and underflows by module, the first value that is not finite with the user's
    line and a remedy, and lost updates. The bits do not depend on the number of threads.

    ValueError: no such unit or recipe, a unit that lacks the products, a pattern that no module has (when the block ends).
    TypeError: a CUDA tensor.
    """
    if recipe is None:
        return Native(backend_of(unit), order, fp32, strict, seed, modules)
    name = str(recipe).replace("-", "_")
    return Emulation(backend_of(unit), ALIASES.get(name, name), order, fp32, strict, seed, modules)


@contextlib.contextmanager
def autocast(unit="h100", dtype=torch.float16, **options):
    """emulate(unit, **options) with a region of torch.autocast("cuda", dtype) in it: CUDA's lists of functions.

    Matrix products, convolutions and attention take their operands in ``dtype``; powers, exponentials, logarithms, sums,
    norms, softmax and losses theirs in fp32; additions of two types give the wider. Gives the emulation.
    """
    with emulate(unit, **options) as run, torch.autocast("cuda", dtype):
        yield run


class GradScaler:
    """A loss scale that moves as a published scaler's does: "pytorch", "apex", "fairseq", "megatron", "deepspeed", ...

    The interface of torch.cuda.amp.GradScaler, on the CPU: scale, unscale_, step, update, get_scale, state_dict.
    """

    OPTIONS = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")

    def __init__(self, dialect="pytorch", **options):
        """options: init_scale, growth_factor, backoff_factor, growth_interval, in place of the dialect's. ValueError
        that lists the dialects, TypeError that lists the options."""
        unknown = sorted(set(options) - set(self.OPTIONS))
        if unknown:
            raise TypeError(f"a loss scale has no {', '.join(unknown)}; there are {', '.join(self.OPTIONS)}")
        self._scale = _core.LossScale(dialect, {name: natural(value, name) if name == "growth_interval" else
                                                real(value, name) for name, value in options.items()})
        self._found = {}
        self._skipped = 0
        self._nan = False

    SAID_AFTER = 8  # steps skipped in a row

    def scale(self, loss):
        """loss * scale, in fp32; of a list, each."""
        if isinstance(loss, (list, tuple)):
            return type(loss)(self.scale(each) for each in loss)
        return loss * self.get_scale()

    def get_scale(self):
        return self._scale.value

    def unscale_(self, optimizer):
        """Divides the optimizer's gradients by the scale, and looks for infinities and NaNs."""
        if id(optimizer) in self._found:
            raise RuntimeError("unscale_() was called twice since the last update()")
        found = False
        with paused(), torch.no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is None:
                        continue
                    found = found or not bool(torch.isfinite(parameter.grad).all())
                    self._nan = self._nan or bool(torch.isnan(parameter.grad).any())
                    parameter.grad.mul_(1.0 / self.get_scale())
        self._found[id(optimizer)] = found

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient is infinite or NaN; returns what it returns, or None."""
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self):
        """Moves the scale by the dialect's rule. RuntimeError where the dialect gives up."""
        found = any(self._found.values())
        self._skipped = self._skipped + 1 if found else 0
        if self._skipped == self.SAID_AFTER:
            at = f"at a loss scale of {self.get_scale():g}"
            warnings.warn(f"{self._skipped} steps in a row were skipped: the gradients have " + (
                f"NaN {at}, so the scale is not the cause; look for a square root or a division at 0, or a row that is masked "
                "entirely" if self._nan else f"infinities {at}; an overflow that stays at scale 1 is in the forward pass") +
                " (emulate's report().first_not_finite names the place)", stacklevel=2)
        self._nan = False
        self._scale.update(found)
        self._found.clear()

    def state_dict(self):
        return self._scale.state()

    def load_state_dict(self, state):
        self._scale.load(state)


def quantize_(model, how, *, only=lambda name, module: isinstance(module, (torch.nn.Linear, torch.nn.Conv2d))):
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
            values = quantized._values[:, :matrix.shape[1]]
            weight.copy_(torch.from_numpy(values).reshape(weight.shape))
    return found


class Comparison:
    """Losses of one training in several recipes.

    losses   a dictionary from the recipe to its list of losses
    reports  the same to its Report
    """

    def __init__(self, losses, reports):
        self.losses = losses
        self.reports = reports

    def __repr__(self):
        lines = [f"{'recipe':<20} {'first loss':>12} {'last loss':>12} {'overflows':>10} {'underflows':>11}"]
        for name, losses in self.losses.items():
            report = self.reports[name]
            ends = (losses[0], losses[-1]) if losses else (float("nan"),) * 2
            lines.append(f"{name:<20} {ends[0]:>12.6g} {ends[1]:>12.6g} {report.overflows:>10} {report.underflows:>11}")
        return "\n".join(lines)

    def plot(self, ax=None):
        """The losses as lines (matplotlib); returns the axes."""
        from matplotlib import pyplot

        ax = ax or pyplot.subplots()[1]
        for name, losses in self.losses.items():
            ax.plot(range(len(losses)), losses, label=name)
        ax.set_xlabel("step")
        ax.set_ylabel("loss")
        ax.legend()
        return ax


def compare(train, recipes, *, unit="h100", seed=0, strict=True, **options):
    """Runs a training in several recipes from the same random numbers.

    train    train(run) trains once, from scratch, and returns its losses, an iterable of numbers; run is the emulation
    recipes  names; fp32 products, which matrix units lack, are added in a written order ("ieee")
    options  of emulate

    Returns a Comparison.
    """
    losses, reports = {}, {}
    for name in recipes:
        torch.manual_seed(seed)
        backend = backend_of(unit)
        if backend not in ("soft:ieee", "eigen"):
            backend = f"with_ieee({backend})"
        with emulate(backend, name, strict=strict, **options) as run:
            losses[name] = [float(loss) for loss in train(run)]
            reports[name] = run.report()
    return Comparison(losses, reports)
