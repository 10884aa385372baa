"""Optimizers as a recipe has them: the format of their steps, and of what they keep from one to the next."""

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import _core
from ._numbers import round

#: What PyTorch's optimizers call means of gradients (m), and means and sums of their squares (v).
ROLES = {"momentum_buffer": "m", "exp_avg": "m", "grad_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "v",
         "square_avg": "v", "sum": "v"}


#: Operations that are several steps (a sum, and what is added), by their name in aten: the steps of what they add.
ADDED = {"add": lambda x: x, "sub": lambda x: -x, "addcmul": lambda x, y: x * y, "addcdiv": lambda x, y: x / y}


def _update_of(kept):
    return kept.get("update", ("fp32",))[0]


class Steps:
    """Knows when an optimizer runs, and which updates were lost: weights with a gradient that a step has not moved."""

    def __init__(self):
        self.acts = lambda: True  # whether the emulation is the one that computes
        self.running = 0
        self.steps = 0
        self.lost = {}  # by parameter's name: elements that did not move, elements, in how many steps
        self._names = {}
        self._before = {}

    def name(self, model):
        for name, parameter in model.named_parameters():
            self._names[id(parameter)] = name

    def hooks(self):
        """Hooks of every optimizer's step, until they are removed: what removes them."""
        return [register(hook).remove for register, hook in ((register_optimizer_step_pre_hook, self._begin),
                                                             (register_optimizer_step_post_hook, self._end))]

    def _begin(self, optimizer, args, kwargs):
        if not self.acts():
            return
        with torch.no_grad():
            self._keep_weights(optimizer)
        self._before_step(optimizer)
        self.running += 1

    def _end(self, optimizer, args, kwargs):
        if not self.acts():
            return
        self.running -= 1
        self._after_step(optimizer)
        self.steps += 1
        with torch.no_grad():
            self._compare_weights(optimizer)

    def _before_step(self, optimizer):
        """Before a step's first operation."""

    def _after_step(self, optimizer):
        """After its last one."""

    def _keep_weights(self, optimizer):
        from ._run import paused
        with paused():
            for i, p in enumerate(q for group in optimizer.param_groups for q in group["params"]):
                if p.grad is not None and p.grad.layout is torch.strided and not p.is_meta:
                    self._before[id(p)] = (p.detach().clone(), p.grad != 0, self._names.get(id(p), f"parameter {i}"), p)

    def _compare_weights(self, optimizer):
        from ._run import paused
        with paused():
            for before, wanted, name, p in self._before.values():
                still = int((wanted & (before == p.detach())).sum())
                if still:
                    known = self.lost.setdefault(name, {"elements": p.numel(), "unmoved": 0, "steps": 0})
                    known["unmoved"] += still
                    known["steps"] += 1
            self._before.clear()


class OptimizerSteps(Steps):
    """Follows the optimizers that run: each step of theirs is rounded to the format of the recipe's updates, as the
    trainer's are (engine/training/optimizer_rules.hpp); weights and state are rounded to the formats that they are kept in
    when a step is over, gradients before it."""

    def __init__(self, recipe, products, kinds, seed, not_emulated, call):
        """call: computes an operation of PyTorch's."""
        super().__init__()
        self._kept = recipe["kept"]  # by kind of parameter
        self._products = products
        self._call = call
        self._kinds = kinds
        self._seed = seed
        self._not_emulated = not_emulated
        self._update = _update_of(self._kept[""])  # of the step that is computed
        self._lost = {}  # by the parameter's id, in a step: what Kahan's sums have lost

    def _rounded(self, tensor):
        if self._update != "fp32" and tensor.dim() > 0 and tensor.dtype is torch.float32:
            round(tensor, self._update, out=tensor)
        return tensor

    def _number(self, x):
        """A number among an operation's arguments, as the trainer's steps take it."""
        return round(x, self._update) if isinstance(x, float) else x

    def compute(self, func, name, in_place, args, kwargs):
        """The result of an optimizer's operation. What comes from a parameter of another kind is computed as that one's
        steps are, and so is what comes from the result."""
        marked = next((x for x in (*args, *kwargs.values()) if hasattr(x, "_ulplab_kind")), None)
        kind = "" if marked is None else marked._ulplab_kind
        self._update = _update_of(self._kept[kind])
        result = self._compute(func, name, in_place, args, kwargs)
        for each in result if kind and isinstance(result, (tuple, list)) else (result,):
            if kind and isinstance(each, torch.Tensor):
                each._ulplab_kind = kind
        return result

    def _compute(self, func, name, in_place, args, kwargs):
        args = tuple(self._number(x) for x in args)
        kwargs = {key: self._number(x) for key, x in kwargs.items()}
        x = args[0] if args else None
        if name in ADDED and "out" not in kwargs and isinstance(x, torch.Tensor) and x.dtype is torch.float32:
            return self._sum(name, in_place, x, *args[1:], **kwargs)
        if name == "lerp" and len(args) == 3 and isinstance(args[2], float) and in_place and id(x) not in self._lost:
            kept = self._rounded(x.mul_(self._number(1 - args[2])))  # a moment in two steps, as the trainer has it
            return self._sum("add", True, kept, args[1], alpha=args[2])
        if in_place and id(x) in self._lost:
            if name != "mul":
                self._not_emulated[f"Kahan's compensation of {func._schema.name}"] += 1
                return func(*args, **kwargs)
            return self._compensated(x, self._rounded(torch.mul(*args, **kwargs)) - x)
        result = self._call(func, args, kwargs)
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
        stored = self._kept[getattr(weights, "_ulplab_kind", "")]["weight"][0]
        step = lambda x: round(x, stored)  # noqa: E731
        lost = self._lost[id(weights)]
        change = torch.as_tensor(change).expand_as(weights)
        wanted = step(step(change) - lost)
        sums = step(weights + wanted)
        lost.copy_(step(step(sums - weights) - wanted))
        return weights.copy_(sums)

    def _parameters(self, optimizer):
        groups = optimizer.param_groups if any(self._kept.values()) else []
        return [p for group in groups for p in group["params"] if p.grad is not None]

    def _before_step(self, optimizer):
        for index, parameter in enumerate(self._parameters(optimizer)):
            kind = self._kinds.of(parameter)
            if kind:
                for each in (parameter, parameter.grad, *optimizer.state.get(parameter, {}).values()):
                    if isinstance(each, torch.Tensor):
                        each._ulplab_kind = kind
            self._keep(parameter.grad, "gradient", index, kind)
        for parameter in (p for group in optimizer.param_groups for p in group["params"]):
            stored, scaled, rounding = self._kept[self._kinds.of(parameter)].get("weight", ("fp32", False, ""))
            if stored == "fp32" or parameter.dtype is not torch.float32 or parameter.dim() == 0:
                continue
            if scaled:
                _core.keep_scaled(parameter.detach().numpy(), stored)
                continue
            round(parameter.detach(), stored, out=parameter.detach())
            if rounding == "kahan":
                known = optimizer.state.get(parameter, {}).get("compensation")
                self._lost[id(parameter)] = torch.zeros_like(parameter).detach() if known is None else known

    def _after_step(self, optimizer):
        for index, parameter in enumerate(self._parameters(optimizer)):
            kind = self._kinds.of(parameter)
            self._keep(parameter.detach(), "weight", index, kind)
            if id(parameter) in self._lost:
                optimizer.state[parameter]["compensation"] = self._lost[id(parameter)]
            for name, tensor in optimizer.state[parameter].items():
                if name in ROLES and isinstance(tensor, torch.Tensor):
                    self._keep(tensor, ROLES[name], index, kind)
        self._lost.clear()
        self._products.step = self._products.step + 1

    def _keep(self, tensor, role, index, kind):
        format, scaled, rounding = self._kept[kind].get(role, (None, False, ""))
        if format is None or tensor.dtype is not torch.float32 or tensor.dim() == 0 or tensor.layout is not torch.strided:
            return
        if scaled:
            _core.keep_scaled(tensor.numpy(), format)
        elif rounding == "stochastic":
            round(tensor, format, "stochastic", seed=self._seed, stream=(self._products.step << 16) + index, out=tensor)
        else:
            round(tensor, format, out=tensor)
