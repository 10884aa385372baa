"""What every emulation does: hooks of PyTorch while it is entered, modules, passes, and what it observes."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import os
import re
import sys
import warnings
from collections import Counter
from typing import Any, Callable, NamedTuple, TypeVar

import numpy
import torch
import torch.nn.attention
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._python_dispatch import TorchDispatchMode

from . import _private
from ._backends import with_ieee
from ._functions import Functions
from ._ops import operations_near
from ._passes import PASSES, Passes

active = []  # emulations that are entered, the innermost last

_OURS = (os.path.dirname(os.path.abspath(torch.__file__)) + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)


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


def floats(result):
    """The tensors of numbers among one result or several, but sparse ones, which are PyTorch's own."""
    return [each for each in (result if isinstance(result, (tuple, list)) else (result,))
            if isinstance(each, torch.Tensor) and each.is_floating_point() and each.layout is torch.strided]


def user_line():
    """"file.py:12" of the innermost frame that is neither PyTorch's nor this package's, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OURS) and not name.startswith("<frozen"):
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class Place(NamedTuple):
    """Where an operation of the forward pass was: its backward pass belongs there, too."""

    module: str
    line: str | None
    fp32: bool


AnyRun = TypeVar("AnyRun", bound="Run")


class Run(TorchDispatchMode):
    by_types = False  # whether the tensors' own types decide
    attention = None  # how scaled_dot_product_attention is computed by tiles: arguments of ulplab.attention
    attention_used = False
    compiled = False  # whether a callable of torch.compile has run, which is said once
    MOST_PLACES = 1 << 17  # of operations whose backward pass has not come

    OPTIONS = ("recipe", "order", "unit")

    strict: bool
    not_emulated: Counter[str]
    left_in_fp32: Counter[str]
    observers: list[Callable[..., None]]
    bound: float

    def __init__(self, strict, modules_in_fp32, modules=None):
        """modules: from patterns of modules' paths to dictionaries of OPTIONS."""
        super().__init__()
        self.strict = strict
        self._options = dict(modules or {})
        for pattern, options in self._options.items():
            if unknown := sorted(set(options) - set(self.OPTIONS)):
                raise ValueError(f"modules['{pattern}'] has {', '.join(unknown)}; there are {', '.join(self.OPTIONS)}")
        self._option_of = {}  # modules' paths: the pattern of modules= that has them, or None
        self.passes = Passes()
        self.not_emulated = Counter()
        self.left_in_fp32 = Counter()  # operations that a card would compute so, but perhaps not the user
        self.observers = []  # called with (func, name, where, args, kwargs, result) when an operation's result is known
        self._matched = dict.fromkeys([*modules_in_fp32, *self._options], False)
        self._patterns = list(modules_in_fp32)
        self._functions = Functions(self)
        self._ways = Counter()  # products by what computed them: one of _core.Emulated, or a row's name
        self._names = {}
        self._fp32 = {}  # modules' paths: whether a pattern names them, or one around them
        self._stack = []
        self._paused = 0
        self._places = {}
        self._last_node = -1

    def count_products(self, module, which, way, a, result):
        """A product of a, or one for each of its matrices, in pass `which`, belongs to a module."""
        number = a.shape[0] if a.ndim == 3 else 1
        counts = self.rounding.counts(module)
        counts.products[PASSES[which]] = counts.products.get(PASSES[which], 0) + number
        counts.multiplications += result.numel() * a.shape[-1]
        self._ways[way] += number

    def count_into(self, run):
        """What this emulation counts from now on is in the report of another one."""
        self._ways, self.not_emulated, self.left_in_fp32 = run._ways, run.not_emulated, run.left_in_fp32
        self.rounding.modules = run.rounding.modules

    def ways(self):
        """What computed products, rows of the table of units or orders, with their numbers."""
        found = Counter()
        for way, number in self._ways.items():
            path = way if isinstance(way, str) else way.path(16, 16, 16)
            found[re.sub(r", \d+ chained instructions.*, kernel \w+", "", path)] += number
        return found

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _private.flex_attention.py_impl(cls)(_refuse_flex_attention)

    # ---- entering and leaving ----

    def is_innermost(self):
        """Whether this emulation computes: of blocks inside each other the innermost does, alone."""
        return active[-1] is self

    def __enter__(self: AnyRun) -> AnyRun:
        if self in active:
            raise RuntimeError("this emulation is entered already: make one for the block inside, with emulate(...)")
        _private.hide_from_compiler(Run)
        if count := _private.older_scalers():
            self.not_emulated["torch.amp.GradScaler that is switched off: make it after import ulplab.torch"] = count
        self.optimizers.acts = self.is_innermost
        self.optimizers.running = 0  # a step that ended with an error told nobody
        hooks = torch.nn.modules.module
        with contextlib.ExitStack() as stack:
            for remove in (hooks.register_module_forward_pre_hook(self._entered).remove,
                           hooks.register_module_forward_hook(self._left, always_call=True).remove,
                           *self.optimizers.hooks()):
                stack.callback(remove)
            for each in (self.passes.clear, self._stack.clear, self._places.clear):
                stack.callback(each)
            stack.enter_context(_kernels_that_show_products())
            stack.enter_context(_private.as_on_a_card())
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", "Using `torch.compile.module.` when there are global hooks")  # emulation's own
            stack.enter_context(self._functions)
            self._last_node = _private.latest_node()
            active.append(self)
            stack.callback(active.remove, self)
            super().__enter__()
            self._context = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            return super().__exit__(*error)
        finally:
            self._context.close()
            if not any(error):
                self._check_patterns()

    def _check_patterns(self):
        """ValueError for a pattern of fp32=[...] or modules={...} that no module had, with near names; and for attention=
        without any."""
        if self.attention is not None and not self.attention_used:
            raise ValueError("attention= is for torch.nn.functional.scaled_dot_product_attention, which nothing called; give a "
                             "model of transformers attn_implementation='sdpa'")
        for pattern, matched in self._matched.items():
            if not matched:
                raise ValueError(no_match(pattern, self._names.values()))

    def _entered(self, module, args):
        if type(module).__name__ == "OptimizedModule":  # torch.compile's, around the user's own
            return
        if not self._stack and not self.passes.runs:  # a checkpoint begins with a part, whose name is known
            _private.hide_from_compiler(Run)
            for name, each in module.named_modules():
                self._names[id(each)] = name.replace("._orig_mod", "") or type(module).__name__
            self._root_entered(module)
        path = self._names.get(id(module), type(module).__name__)
        if self._matched:
            self._mark_patterns(path)
        self._stack.append(path)
        self.passes.module_again = self.passes.recomputing

    def _mark_patterns(self, path):
        if path not in self._fp32:
            parts = path.split(".")
            names = [".".join(parts[:i + 1]) for i in range(len(parts))]
            hits = [p for p in self._matched if any(fnmatch.fnmatchcase(name, p) for name in names)]
            for each in hits:
                self._matched[each] = True
            self._fp32[path] = any(each in self._patterns for each in hits)
            self._option_of[path] = next((each for each in hits if each in self._options), None)

    def _left(self, module, args, result):
        if self._stack and type(module).__name__ != "OptimizedModule":
            self._stack.pop()
            self.passes.module_again = self.passes.module_again and bool(self._stack)

    _has_casts = False

    def unit_of(self, tensor):
        """The backend, and the format that the tensor's numbers have in its products."""
        formats = {torch.float16: "fp16", torch.bfloat16: "bf16"}
        return (with_ieee(self.backend), formats.get(tensor.dtype, "fp32")) if self.by_types else (self.products.backend, self.low)

    # ---- where operations are ----

    def module(self):
        """The path of the module that runs, "" outside of modules."""
        return self._stack[-1] if self._stack else ""

    def in_fp32(self):
        """Whether what runs belongs to a module that is to be computed in fp32."""
        if not self._patterns and not self._has_casts:
            return False
        if self.passes.backward:
            place = self.place()
            return place is not None and place.fp32
        return self._fp32.get(self.module(), False)

    @property
    def stepping(self):
        """Whether what runs is an optimizer's own: the closure that its step was given is the model's."""
        return bool(self.optimizers.running) and not (self.passes.backward or self._stack or torch.is_grad_enabled())

    def option(self, module):
        """The pattern of modules={...} that a module has, or None."""
        if not self._options:
            return None
        place = self.place()
        return self._option_of.get(module if place is None else place.module)

    def remember_place(self):
        """Notes where the operation that runs is, for its backward pass. A custom autograd function computes without gradient;
        its node is among those that were made since the operation before."""
        if self.passes.backward:
            return
        node = _private.latest_node()
        first = node if torch.is_grad_enabled() else max(self._last_node + 1, node - 63)
        self._last_node = node
        if first > node or node in self._places:  # an operation without gradient after the node's own
            return
        if len(self._places) > self.MOST_PLACES:
            self._places.clear()
        path = self.module()
        place = Place(path, user_line(), self._fp32.get(path, False))
        for each in range(first, node + 1):
            self._places.setdefault(each, place)

    def place_in_fp32(self):
        """The operation that has run computed in fp32 because the user's code said so: its backward pass does, too."""
        place = None if self.passes.backward else self._places.get(_private.latest_node())
        if place is not None:
            self._places[_private.latest_node()] = place._replace(fp32=True)
            self._has_casts = True

    def place(self):
        """Of the forward operation whose backward pass runs, or None."""
        return self._places.get(_private.running_node()) if self.passes.backward else None

    def where(self, name, module):
        which = "backward" if self.passes.backward else "optimizer" if self.stepping else "forward"
        return {"module": module, "pass": which, "step": self.step_number(), "operation": name}

    def located(self, where):
        """The same with the user's line: in the backward pass that of the forward operation."""
        place = self.place()
        if place is None:
            return {**where, "line": user_line()}
        return {**where, "module": where["module"] or place.module, "line": place.line}

    # ---- operations ----

    def _again(self, entered):
        """Sees the operations that an operation is taken apart into, or no longer."""
        super().__enter__() if entered else super().__exit__(None, None, None)

    def _left_alone(self, func, tensor, args, kwargs):
        """Shapes without numbers, and sparse tensors, are PyTorch's own. TypeError for a tensor that is elsewhere."""
        if tensor._is_zerotensor():  # forward-mode differentiation makes zeros without memory
            args = tuple(torch.zeros(x.shape, dtype=x.dtype) if isinstance(x, torch.Tensor) and x._is_zerotensor() else x
                         for x in args)
            return self.__torch_dispatch__(func, (), args, kwargs)
        if tensor.is_meta:
            return func(*args, **kwargs)
        if not tensor.is_cpu:
            raise TypeError(f"{func._schema.name} has a tensor on {tensor.device}; emulate computes on the CPU: give the model "
                            "and its inputs .cpu()")
        self.not_emulated[f"{func._schema.name} of {str(tensor.layout)[6:]}"] += 1
        return func(*args, **kwargs)

    def taken_apart(self, func, args, kwargs):
        """The result of an operation that PyTorch makes of others (below autograd it does not by itself), or
        NotImplemented."""
        self._again(True)
        try:
            return func.decompose(*args, **kwargs)
        finally:
            self._again(False)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._paused or types or active[-1] is not self:
            if self._paused or active[-1] is not self or all(map(_stays_out, types)):
                return func(*args, **kwargs)
            return NotImplemented  # a tensor of another class says what it is made of; these operations come here
        for x in args:
            if isinstance(x, torch.Tensor) and (not x.is_cpu or x.layout is not torch.strided or x._is_zerotensor()):
                return self._left_alone(func, x, args, kwargs)
        name, result = self.compute(func, args, kwargs)
        if self.observers:
            where = self.where(name, self.module())
            for each in self.observers:
                each(func, name, where, args, kwargs, result)
        return result


def _refuse_flex_attention(*args, **kwargs):
    raise NotImplementedError("flex_attention's kernel shows no products, so emulate cannot compute it; use "
                              "torch.nn.functional.scaled_dot_product_attention (in transformers attn_implementation='sdpa')")


def _stays_out(kind):
    """Whether tensors of a class compute by themselves: those of shapes alone, the compiler's, and any without operations of
    its own."""
    return issubclass(kind, (FakeTensor, FunctionalTensor)) or kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__


def no_match(pattern, names):
    """The sentence for a pattern that no module has."""
    names = sorted(set(names))
    near = operations_near(pattern)[:3] + (difflib.get_close_matches(pattern, names, n=6, cutoff=0.3) or names[:12])
    return f"fp32 or modules names '{pattern}', which is no operation and matches no module that has run" + (
        f"; near names: {', '.join(near)}" if near else "")


@contextlib.contextmanager
def _kernels_that_show_products():
    """Without kernels that hide their products: oneDNN's, and fused attention's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = torch.backends.mkldnn.flags(enabled=False)
        flags.__enter__()
    try:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flags.__exit__(None, None, None)


def square_root(x):
    return torch.from_numpy(numpy.asarray(numpy.sqrt(x.detach().numpy())))


def call(func, args, kwargs):
    """func(*args, **kwargs); square roots are rounded correctly, which those of PyTorch 2.13 on the CPU are not."""
    name = func._schema.name
    if not name.startswith(("aten::sqrt", "aten::_foreach_sqrt")) or "out" in kwargs:
        return func(*args, **kwargs)
    given = list(args[0]) if isinstance(args[0], (list, tuple)) else [args[0]]
    if any(x.dtype is not torch.float32 for x in given):
        return func(*args, **kwargs)
    found = [x.copy_(square_root(x)) if name.endswith("_") else square_root(x) for x in given]
    return found[0] if isinstance(args[0], torch.Tensor) else None if name.endswith("_") else found


def on_one_thread(func, args, kwargs):
    """A sum whose order may follow the number of PyTorch's threads."""
    threads = torch.get_num_threads()
    if threads == 1:
        return func(*args, **kwargs)
    torch.set_num_threads(1)
    try:
        return func(*args, **kwargs)
    finally:
        torch.set_num_threads(threads)


__all__ = ["PASSES", "Place", "Run", "active", "call", "floats", "no_match", "on_one_thread", "paused", "square_root", "user_line"]
