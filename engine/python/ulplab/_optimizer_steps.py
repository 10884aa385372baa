"""Optimizers as a recipe has them: the format of their steps, and of what they keep from one to the next."""

import sys

import torch

from . import _core
from ._numbers import round

#: What PyTorch's optimizers call means of gradients (m), and means and sums of their squares (v).
ROLES = {"momentum_buffer": "m", "exp_avg": "m", "grad_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "v",
         "square_avg": "v", "sum": "v"}


class OptimizerSteps:
    """Follows the optimizers that run: each operation of theirs is rounded to the format of the recipe's updates; weights
    and state are rounded to the formats that they are kept in when a step is over, gradients before it."""

    def __init__(self, recipe, products, seed):
        self.running = 0
        self._update = recipe["update"]
        self._kept = recipe["kept"]
        self._products = products
        self._seed = seed
        kahan = self._kept.get("weight", ("", False, ""))[2] == "kahan"
        self.not_emulated = {"Kahan's compensation of updates: weights are rounded to nearest": 1} if kahan else {}

    def patches(self):
        """(name, replacement) for torch.autograd.profiler.record_function, with which PyTorch marks optimizers."""
        record = torch.autograd.profiler.record_function
        enter, leave = record.__enter__, record.__exit__

        def entered(which):
            if which.name.startswith("Optimizer.step"):
                self._before_step(sys._getframe(1).f_locals)
            self.running += which.name.startswith("Optimizer.")
            return enter(which)

        def left(which, *error):
            self.running -= which.name.startswith("Optimizer.")
            if which.name.startswith("Optimizer.step"):
                self._after_step(sys._getframe(1).f_locals)
            return leave(which, *error)

        return ("__enter__", entered), ("__exit__", left)

    def round_step(self, tensor):
        if self._update != "fp32" and tensor.dim() > 0 and tensor.dtype is torch.float32:
            round(tensor, self._update, out=tensor)

    @staticmethod
    def _optimizer(variables):
        """The optimizer, which PyTorch's wrapper of step() has as a variable."""
        return next((x for x in variables.values() if isinstance(x, torch.optim.Optimizer)), None)

    def _parameters(self, variables):
        optimizer = self._optimizer(variables) if self._kept else None
        groups = [] if optimizer is None else optimizer.param_groups
        return optimizer, [p for group in groups for p in group["params"] if p.grad is not None]

    def _before_step(self, variables):
        for index, parameter in enumerate(self._parameters(variables)[1]):
            self._keep(parameter.grad, "gradient", index)

    def _after_step(self, variables):
        optimizer, parameters = self._parameters(variables)
        for index, parameter in enumerate(parameters):
            self._keep(parameter.detach(), "weight", index)
            for name, tensor in optimizer.state[parameter].items():
                if name in ROLES and isinstance(tensor, torch.Tensor):
                    self._keep(tensor, ROLES[name], index)
        self._products.step = self._products.step + 1

    def _keep(self, tensor, role, index):
        format, scaled, rounding = self._kept.get(role, (None, False, ""))
        if format is None or tensor.dtype is not torch.float32 or tensor.dim() == 0:
            return
        if scaled:
            _core.keep_scaled(tensor.numpy(), format)
        elif rounding == "stochastic":
            round(tensor, format, "stochastic", seed=self._seed, stream=(self._products.step << 16) + index, out=tensor)
        else:
            round(tensor, format, out=tensor)
