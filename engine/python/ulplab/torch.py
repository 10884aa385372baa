"""PyTorch in a matrix unit's arithmetic: unmodified modules, forward and backward, on the CPU.

    with ulplab.torch.emulate("h100", recipe="mixed_fp16") as run:
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
    print(run.report())

docs/python.md says what is emulated, and how it compares with the trainer of the library.
"""

import torch

from . import _core
from ._backends import backend_of
from ._emulation import Emulation, active, paused
from ._export import export
from ._kinds import natural, real
from ._numbers import dequantize, quantize
from ._report import Report

__all__ = ["emulate", "Report", "recipes", "GradScaler", "quantize_", "compare", "Comparison", "paused", "export"]


def recipes():
    """The recipes: a dictionary from the name to what it is (docs/reference/commands.md, train --recipe)."""
    return dict(_core.recipes())


def emulate(unit="h100", recipe="mixed_fp16", *, order=None, fp32=(), strict=True, seed=0):
    """A context in which every matrix product of PyTorch is that of a matrix unit, and results are rounded as a recipe
    says.

    unit    a GPU ("h100", "a100.wmma"), a unit's key ("sm_90:wgmma.fp16.fp32"), a file that describes one, "ieee" (each
            step rounded, in a written order) or "eigen" (fast, in no promised order)
    recipe  how products take their operands and what results are rounded to: "mixed_fp16", "bf16", "tf32", "fp8",
            "mxfp8", "nvfp4", ... (:func:`recipes`); the products are computed by the trainer's own code
    order   an ulplab.Order for the products without block scales, split-k say
    fp32    point-wise operations that stay in fp32, beside those of the recipe: "layer_norm", "softmax", ...
    strict  refuse an operation that cannot be emulated (NotImplementedError with its name); else it runs in fp32 and is
            listed in the report
    seed    of stochastic rounding

    Emulated: mm, addmm, bmm, baddbmm, matrix-vector products, convolutions (one to three dimensions, transposed ones too)
    and attention, which is taken apart, forward and backward; point-wise operations and sums of fp32 tensors. Tensors
    stay float32 and carry the recipe's format; parameters are the masters, and are rounded where they are read.
    Normalisations, softmax, cross entropy, gelu, tanh, sigmoid and sums are the trainer's own. Optimizers keep weights,
    moments and gradients in the recipe's formats. Numbers without extents (a loss, its scale) stay fp32.

    ``run.report()`` has products, over- and underflows by module and the first value that is not finite. The bits do not
    depend on the number of threads.

    ValueError: no such unit or recipe, or a unit that lacks the recipe's products, with one that has them.
    """
    return Emulation(backend_of(unit), recipe, order, fp32, strict, seed)


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
                    parameter.grad.mul_(1.0 / self.get_scale())
        self._found[id(optimizer)] = found

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient is infinite or NaN; returns what it returns, or None."""
        if id(optimizer) not in self._found:
            self.unscale_(optimizer)
        return None if self._found[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self):
        """Moves the scale by the dialect's rule. RuntimeError where the dialect gives up."""
        self._scale.update(any(self._found.values()))
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
            values = dequantize(quantized)[:, :matrix.shape[1]]
            weight.copy_(values.reshape(weight.shape))
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
