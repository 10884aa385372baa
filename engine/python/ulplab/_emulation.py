"""The dispatch mode under which PyTorch computes in a unit's arithmetic. ulplab.torch is the interface."""

import contextlib
from collections import Counter

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _convolutions, _core, _torch_products
from ._ops import MOVES, REDUCTIONS, ROUNDED, names_of, plain_name
from ._passes import PASSES, WGRAD, Passes, WatchedEngine
from ._products import _order
from ._report import Report
from ._rounding import Rounding

active = []  # emulations that are entered, the innermost last


@contextlib.contextmanager
def paused():
    """What runs inside is plain PyTorch: optimizers, loss scalers."""
    for run in active:
        run._paused += 1
    try:
        yield
    finally:
        for run in active:
            run._paused -= 1


def layer_norm_backward(run, dy, x, shape, mean, rstd, weight, bias, mask):
    """PyTorch's, but for the sums over rows: their order there follows the number of threads."""
    func = torch.ops.aten.native_layer_norm_backward.default
    weight = weight if weight is None else run.vector(weight)
    dx = func(dy, x, shape, mean, rstd, weight, bias, [mask[0], False, False])[0]
    rows = dy.reshape(-1, *shape)
    dw = db = None
    if mask[1]:
        scaled = ((x - mean) * rstd).reshape(-1, *shape) * rows
        dw = torch.from_numpy(numpy.add.reduce(scaled.contiguous().numpy(), axis=0)) if shape else None
    if mask[2]:
        db = torch.from_numpy(numpy.add.reduce(rows.contiguous().numpy(), axis=0))
    for each in (dx, dw, db):
        if each is not None:
            run.finish("native_layer_norm_backward", each, (dy, x), run.module())
    return dx, dw, db


def _mark(result):
    """Results that stay in fp32."""
    for each in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(each, torch.Tensor) and each.is_floating_point():
            each._ulplab_single = True


class Emulation(TorchDispatchMode):
    def __init__(self, backend, recipe, order, fp32, strict, seed):
        super().__init__()
        self.products = _core.Products(recipe, backend, _order(order), seed)
        self.recipe = self.products.recipe
        self.strict = strict
        self.low = self.recipe["low"]
        self.rounding = Rounding(self.low, self.recipe["flush"])
        self.vector = self.rounding.vector
        self.passes = Passes()
        casts = self.recipe["casts"]
        self.single = names_of(fp32) | names_of(name for name, cast in casts.items()
                                                if cast == "single" and name != "ctc")
        if self.recipe["keep_batchnorm_fp32"]:
            self.single |= names_of(["batch_norm"])
        self.not_emulated = Counter()
        if self.recipe["excluded"]:
            self.not_emulated["layers that the recipe leaves to another one are not: all are computed alike"] = 1
        if self.recipe["update"] != "fp32":
            self.not_emulated[f"optimizer steps in {self.recipe['update']}"] = 1
        self._names = {}
        self._stack = []
        self._optimizing = 0
        self._paused = 0
        self._undo = []
        self._kinds = {}
        self._handlers = {**_torch_products.HANDLERS, **_convolutions.HANDLERS}
        if self.low != "fp32":
            self._handlers["native_layer_norm_backward"] = layer_norm_backward

    # ---- entering and leaving ----

    def __enter__(self):
        hooks = torch.nn.modules.module
        self._undo = [hooks.register_module_forward_pre_hook(self._entered).remove,
                      hooks.register_module_forward_hook(self._left).remove]
        variable = torch.autograd.Variable
        self._patch(variable, "_execution_engine", WatchedEngine(self.passes, variable._execution_engine))
        record = torch.autograd.profiler.record_function
        enter, leave = record.__enter__, record.__exit__

        def entered(which):
            self._optimizing += which.name.startswith("Optimizer.")
            return enter(which)

        def left(which, *error):
            self._optimizing -= which.name.startswith("Optimizer.")
            if which.name.startswith("Optimizer.step"):
                self.products.step = self.products.step + 1
            return leave(which, *error)

        self._patch(record, "__enter__", entered)
        self._patch(record, "__exit__", left)
        # The fused kernels of attention in evaluation are left aside where somebody overrides functions.
        self._patch(torch.overrides, "has_torch_function", lambda tensors: True)
        active.append(self)
        return super().__enter__()

    def __exit__(self, *error):
        try:
            return super().__exit__(*error)
        finally:
            active.remove(self)
            for undo in reversed(self._undo):
                undo()
            self.passes.clear()
            self._stack.clear()

    def _patch(self, owner, name, value):
        old = owner.__dict__.get(name, getattr(owner, name))
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, old))

    def _entered(self, module, args):
        if not self._stack:
            for name, each in module.named_modules():
                self._names[id(each)] = name or type(module).__name__
        self._stack.append(self._names.get(id(module), type(module).__name__))

    def _left(self, module, args, result):
        if self._stack:
            self._stack.pop()

    # ---- what operations are computed with ----

    def report(self):
        """What was computed up to now: a Report."""
        return Report(self.recipe["name"], self.products.backend, self.products.path(1024, 1024, 1024),
                      self.rounding.modules, self.rounding.first, self.not_emulated)

    def module(self):
        """The path of the module that runs, "" outside of modules."""
        return self._stack[-1] if self._stack else ""

    def _where(self, name, module):
        which = "optimizer" if self._optimizing else "backward" if self.passes.backward else "forward"
        return {"module": module, "pass": which, "step": self.products.step, "operation": name}

    def multiply(self, name, a, b, purpose=None):
        """A * B in fp32, as the unit gives it, by the recipe's rules for its operands; and the module it belongs to."""
        module, which, gradient = purpose or self.passes.purpose(a, b, self.module())
        if a.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise NotImplementedError(f"emulate multiplies float32, float16 and bfloat16 tensors; aten::{name} has "
                                      f"{a.dtype}")
        x, y = a.detach().float().numpy(), b.detach().float().numpy()
        result = torch.from_numpy(self.products.matmul(x, y, module, which, gradient, which == WGRAD))
        counts = self.rounding.counts(module)
        counts.products[PASSES[which]] = counts.products.get(PASSES[which], 0) + (x.shape[0] if x.ndim == 3 else 1)
        counts.multiplications += result.numel() * x.shape[-1]
        return result, module

    def finish(self, name, result, operands, module, dtype=torch.float32):
        """The result of an operation, rounded to the recipe's format."""
        self.rounding.result(result, operands, self._where(name, module))
        return result if dtype is torch.float32 else result.to(dtype)

    # ---- operations ----

    def _classify(self, func):
        name = plain_name(func)
        schema = func._schema
        views = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        in_place = any(r.alias_info is not None and r.alias_info.is_write for r in schema.returns) or \
            schema.name.endswith("_")
        # torch.ops.prims and quantized have names of their own.
        known = schema.name.startswith(("aten::", "profiler::"))
        if name in self._handlers and not in_place and known:
            kind = "product"
        elif views or (known and name in MOVES):
            kind = "move"
        elif known and name in ROUNDED:
            kind = "round"
        else:
            kind = "unknown"
        return kind, name, in_place

    def _refuse(self, func):
        if self.strict:
            raise NotImplementedError(
                f"emulate cannot compute {func._schema.name} in the arithmetic of {self.products.backend}; write it with "
                "operations that it knows, or give strict=False: it then runs in fp32 and is listed in the report")
        self.not_emulated[func._schema.name] += 1

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._paused:
            return func(*args, **kwargs)
        known = self._kinds.get(func)
        if known is None:
            known = self._kinds[func] = self._classify(func)
        kind, name, in_place = known
        if kind == "move":
            return self._move(func, args, kwargs)
        if self._optimizing:
            return self._optimizer(func, name, args, kwargs)
        if kind == "product":
            if not any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in args):
                return func(*args, **kwargs)
            return self._handlers[name](self, *args, **kwargs)
        if kind == "unknown":
            self._refuse(func)
        return self._rounded(func, name, in_place, args, kwargs)

    def _move(self, func, args, kwargs):
        result = func(*args, **kwargs)
        if any(getattr(x, "_ulplab_single", False) for x in args if isinstance(x, torch.Tensor)):
            _mark(result)
        return result

    def _optimizer(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            self.rounding.look(result, args[1:], self._where(name, "optimizer"))
        return result

    def _rounded(self, func, name, in_place, args, kwargs):
        tensors = [x for x in args if isinstance(x, torch.Tensor) and x.is_floating_point()]
        inside = self.passes.backward or self._stack or any(x.requires_grad for x in tensors)
        single = name in self.single or any(getattr(x, "_ulplab_single", False) for x in tensors)
        if self.passes.backward and name.endswith(("_backward", "_backward_data")) and name not in self.single:
            single = False  # the gradient of a low operand is low
        if not inside or not tensors:
            return func(*args, **kwargs)
        if not single and self.low != "fp32":
            args = tuple(self.rounding.parameter(x) if isinstance(x, torch.nn.Parameter) and not (in_place and i == 0)
                         else x for i, x in enumerate(args))
        result = self._run(func, name, args, kwargs)
        if single:
            _mark(result)
            return result
        where = self._where(name, self.module())
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, torch.Tensor) and each.is_floating_point() and each.dtype is torch.float32:
                if not (in_place and isinstance(each, torch.nn.Parameter)):
                    self.rounding.result(each, args, where)
        return result

    @staticmethod
    def _run(func, name, args, kwargs):
        if name not in REDUCTIONS or torch.get_num_threads() == 1:
            return func(*args, **kwargs)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return func(*args, **kwargs)
        finally:
            torch.set_num_threads(threads)
