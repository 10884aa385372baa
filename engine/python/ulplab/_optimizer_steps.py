"""Optimizers as a recipe has them: the format of their steps, and of what they keep from one to the next."""

import sys

import torch

from . import _core
from ._numbers import round

#: What PyTorch's optimizers call means of gradients (m), and means and sums of their squares (v).
ROLES = {"momentum_buffer": "m", "exp_avg": "m", "grad_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "v",
         "square_avg": "v", "sum": "v"}


#: Operations that are several steps (a sum, and what is added), by their name in aten: the steps of what they add.
ADDED = {"add": lambda x: x, "sub": lambda x: -x, "addcmul": lambda x, y: x * y, "addcdiv": lambda x, y: x / y}


class OptimizerSteps:
    """Follows the optimizers that run: each step of theirs is rounded to the format of the recipe's updates, as the
    trainer's are (engine/training/optimizer_rules.hpp); weights and state are rounded to the formats that they are kept in
    when a step is over, gradients before it."""

    def __init__(self, recipe, products, seed, not_emulated):
        self.running = 0
        self._update = recipe["update"]
        self._kept = recipe["kept"]
        self._products = products
        self._seed = seed
        self._not_emulated = not_emulated
        self._stored, self._scaled, self._rounding = self._kept.get("weight", ("fp32", False, ""))
        self._lost = {}  # by the parameter's id, in a step: what Kahan's sums have lost

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

    def _rounded(self, tensor):
        if self._update != "fp32" and tensor.dim() > 0 and tensor.dtype is torch.float32:
            round(tensor, self._update, out=tensor)
        return tensor

    def _number(self, x):
        """A number among an operation's arguments, as the trainer's steps take it."""
        return round(x, self._update) if isinstance(x, float) else x

    def compute(self, func, name, in_place, args, kwargs):
        """The result of an optimizer's operation."""
        args = tuple(self._number(x) for x in args)
        kwargs = {key: self._number(x) for key, x in kwargs.items()}
        x = args[0] if args else None
        if name in ADDED and "out" not in kwargs and isinstance(x, torch.Tensor) and x.dtype is torch.float32:
            return self._sum(name, in_place, x, *args[1:], **kwargs)
        if in_place and id(x) in self._lost:
            if name != "mul":
                self._not_emulated[f"Kahan's compensation of {func._schema.name}"] += 1
                return func(*args, **kwargs)
            return self._compensated(x, self._rounded(torch.mul(*args, **kwargs)) - x)
        result = func(*args, **kwargs)
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, torch.Tensor):
                self._rounded(each)
        return result

    def _sum(self, name, in_place, x, *operands, alpha=1, value=1):
        """add, sub, addcmul or addcdiv, each step rounded, where PyTorch's kernels take some at once."""
        added = ADDED[name](*operands)
        added = self._rounded(added) if isinstance(added, torch.Tensor) else added
        factor = alpha if alpha != 1 else value
        if factor != 1:
            added = self._rounded(torch.mul(added, factor)) if isinstance(added, torch.Tensor) else added * factor
        if not in_place:
            return self._rounded(torch.add(x, added))
        return self._compensated(x, added) if id(x) in self._lost else self._rounded(x.add_(added))

    def _compensated(self, weights, change):
        """weights + change on the weights' grid; what is lost is added to the next change (engine/training/update.cpp)."""
        step = lambda x: round(x, self._stored)  # noqa: E731
        lost = self._lost[id(weights)]
        change = torch.as_tensor(change).expand_as(weights)
        wanted = step(step(change) - lost)
        sums = step(weights + wanted)
        lost.copy_(step(step(sums - weights) - wanted))
        return weights.copy_(sums)

    @staticmethod
    def _optimizer(variables):
        """The optimizer, which PyTorch's wrapper of step() has as a variable."""
        return next((x for x in variables.values() if isinstance(x, torch.optim.Optimizer)), None)

    def _parameters(self, variables):
        optimizer = self._optimizer(variables) if self._kept else None
        groups = [] if optimizer is None else optimizer.param_groups
        return optimizer, [p for group in groups for p in group["params"] if p.grad is not None]

    def _before_step(self, variables):
        optimizer, parameters = self._parameters(variables)
        for index, parameter in enumerate(parameters):
            self._keep(parameter.grad, "gradient", index)
        for parameter in (p for group in optimizer.param_groups for p in group["params"]) if self._kept else ():
            if self._stored == "fp32" or self._scaled or parameter.dtype is not torch.float32 or parameter.dim() == 0:
                continue
            round(parameter.detach(), self._stored, out=parameter.detach())
            if self._rounding == "kahan":
                known = optimizer.state.get(parameter, {}).get("compensation")
                self._lost[id(parameter)] = torch.zeros_like(parameter).detach() if known is None else known

    def _after_step(self, variables):
        optimizer, parameters = self._parameters(variables)
        for index, parameter in enumerate(parameters):
            self._keep(parameter.detach(), "weight", index)
            if id(parameter) in self._lost:
                optimizer.state[parameter]["compensation"] = self._lost[id(parameter)]
            for name, tensor in optimizer.state[parameter].items():
                if name in ROLES and isinstance(tensor, torch.Tensor):
                    self._keep(tensor, ROLES[name], index)
        self._lost.clear()
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
