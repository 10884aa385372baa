"""The dispatch mode under which PyTorch computes in a unit's arithmetic. ulplab.torch is the interface."""

from __future__ import annotations

import math
from typing import Any

import torch

from . import _convolutions, _core, _engine_operations, _scaled_products, _torch_products
from ._backends import backend_of, with_ieee
from ._native import LOW, Native
from ._ops import MOVES, REDUCTIONS, ROUNDED, is_sparse, names_of, plain_name, split_names
from ._optimizer_steps import OptimizerSteps
from ._parameter_kinds import ParameterKinds
from ._products import _order
from ._report import LARGEST, Report
from ._rounding import Rounding
from ._run import Run, call, floats, on_one_thread


#: Marks of tensors: low; in fp32, until an operation of the trainer's casts it; in fp32 because the user said so.
NOT_SINGLE, SINGLE, KEPT_SINGLE = 0, 1, 2


class Emulation(Run):
    """Tensors of fp32 that carry the numbers of a recipe's formats. recipe: its parts by name."""

    KEPT = KEPT_SINGLE

    recipe: dict[str, Any]
    low: str

    def __init__(self, backend, recipe, order, fp32, strict, seed, modules=None):
        operations, in_fp32_modules = split_names(fp32)
        super().__init__(strict, in_fp32_modules, modules)
        named = names_of(operations)
        in_fp32 = [name for aten, name in _engine_operations.NAMES.items() if aten in named]
        if "native_batch_norm" in named:
            in_fp32.append("batch_norm")  # whose parameters are then in fp32, too
        self.products = _core.Emulated(recipe, backend, _order(order), seed, in_fp32)
        self.recipe = self.products.recipe
        self._products_of = {
            pattern: _core.Emulated(options.get("recipe", recipe),
                                    backend_of(options["unit"]) if "unit" in options else backend,
                                    _order(options.get("order", order)), seed, in_fp32)
            for pattern, options in self._options.items()}
        self.low = self.recipe["low"]
        self.rounding = Rounding(self.low, self.recipe["flush"], self.located)
        self.fp32_products = named & set(_torch_products.HANDLERS) | named & set(_convolutions.HANDLERS)
        casts = self.recipe["casts"]
        self.single = named | names_of(name for name, cast in casts.items() if cast == "single")
        if self.recipe["keep_batchnorm_fp32"]:
            self.single |= names_of(["batch_norm"])
        self.kinds = ParameterKinds(self.recipe["kept"]["linear_weight"])
        self.optimizers = OptimizerSteps(self.recipe, self.products, self.kinds, seed, self.not_emulated, call)
        self.kept_throughout = "weight" in self.recipe["kept"][""]  # nothing is kept in fp32: operations outside modules, too
        self._exact = False  # whether the operation that runs belongs to a module in fp32
        self._exact_products = self._of_types = None
        self._kinds = {}
        self._handlers = {**_torch_products.HANDLERS, **_convolutions.HANDLERS}

    def _root_entered(self, module):
        self.optimizers.name(module)
        self.kinds.add(module)
        if self.passes.add_layers(module):
            self.products.set_linear_layers([name for name, _ in self.passes.layers.values()])

    def step_number(self):
        return self.products.step

    # ---- what operations are computed with ----

    def report(self) -> Report:
        """What was computed up to now: a Report."""
        return Report(self.recipe["name"], self.products.backend, self.ways(),
                      self.rounding.modules, self.rounding.first, self.not_emulated, self.optimizers.lost, self.left_in_fp32)

    def multiply(self, name, a, b, purpose=None):
        """A * B in fp32, as the unit gives it, by the recipe's rules for its operands, rounded to the format of the recipe's
        steps; and the module it belongs to."""
        place = self.place()
        module, layer, which, gradient = purpose or self.passes.purpose(
            a, b, place.module if place is not None else self.module())
        for each in (a, b):
            if each.device.type != "cpu" or each.layout is not torch.strided:
                raise NotImplementedError(f"emulate multiplies dense tensors on the CPU; aten::{name} has one of "
                                          f"{each.layout} on {each.device}: give its .cpu() or .to_dense()")
        if a.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise NotImplementedError(f"emulate multiplies float32, float16 and bfloat16 tensors; aten::{name} has "
                                      f"{a.dtype}")
        seen = (lambda x: x) if self._exact else self.kinds.value_of
        x, y = (seen(each.detach()).float().numpy() for each in (a, b))
        operation = _torch_products.OPERATIONS[name]
        products = self._fp32_products() if self._exact else self._products_of.get(self.option(module), self.products)
        counts = self.rounding.counts(module)
        if 0 in (x.size, y.size):  # blocks need numbers: an expert without tokens, say
            result = torch.zeros(*torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
        else:
            before = products.saturated
            result = torch.from_numpy(products.matmul(x, y, layer, operation, which, gradient, self.passes.recomputing))
            counts.saturated += products.saturated - before
        self.count_products(module, which, products, x, result)
        return self.step(result), module

    def _fp32_products(self):
        if self._exact_products is None:
            self._exact_products = _core.Emulated("fp32", with_ieee(self.products.backend), None, 0, [])
        return self._exact_products

    def vector(self, bias):
        """A bias as the model sees it."""
        return bias if self._exact else self.rounding.vector(bias)

    def step(self, tensor):
        """A step's result on the grid of the recipe's steps, in place: pure recipes compute in 16 bits throughout."""
        if self.recipe["compute"] != "fp32" and not self._exact:
            _core.round_in_place(tensor.numpy(), self.recipe["compute"], self.recipe["flush"])
        return tensor

    def sum_rows(self, matrix):
        return torch.from_numpy(self.products.sum_rows(matrix.contiguous().numpy(), False))

    @staticmethod
    def mark(result, how=SINGLE):
        """Says that results stay in fp32."""
        for each in floats(result):
            each._ulplab_single = how
        return result

    @staticmethod
    def marks(args):
        """The strongest mark among operands."""
        strongest = NOT_SINGLE
        for x in args:
            if (mark := getattr(x, "_ulplab_single", NOT_SINGLE)) > strongest:
                strongest = mark
        return strongest

    @staticmethod
    def is_marked(tensor):
        return getattr(tensor, "_ulplab_single", NOT_SINGLE) > NOT_SINGLE

    def is_single(self, aten, tensor):
        """Whether an operation takes the tensor in fp32 though the recipe's format is another one."""
        return self.low == "fp32" or aten in self.single or self.is_marked(tensor)

    def finish(self, name, result, operands, module, dtype=torch.float32, wide=False):
        """The result of an operation, rounded to the recipe's format; wide: the user's code says that it stays fp32."""
        if self._exact or wide:
            self.rounding.look(result, operands, self.where(name, module))
            return self.mark(result, KEPT_SINGLE)
        self.rounding.result(result, operands, self.where(name, module))
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
        elif name in _engine_operations.HANDLERS and not in_place and known:
            kind = "engine"
        elif views:
            kind = "view"
        elif known and (name in MOVES or is_sparse(name)):
            kind = "move"
        elif known and (name in ROUNDED or torch.Tag.pointwise in func.tags):
            kind = "round"
        else:
            kind = "unknown"
        return kind, name, in_place

    def _refuse(self, func, remedy="write it with operations that it knows"):
        if self.strict:
            raise NotImplementedError(
                f"emulate cannot compute {func._schema.name} in the arithmetic of {self.products.backend}; {remedy}, or "
                "give strict=False: it then runs in fp32 and is listed in the report")
        self.not_emulated[func._schema.name] += 1

    def compute(self, func, args, kwargs):
        if self.passes.marks and self.passes.backward:
            self._remind(args)
        known = self._kinds.get(id(func))  # whose own hash takes a call
        if known is None:
            known = self._kinds[id(func)] = *self._classify(func), func
        kind, name, in_place, _ = known
        if kind == "move" or kind == "view":
            return name, self._move(func, kind, name, in_place, args, kwargs)
        self.remember_place()
        if (kind == "product" and name in self.fp32_products or self.in_fp32()) and not self.stepping:
            return name, self._in_single(func, kind, name, args, kwargs)
        if kind == "unknown" and name.startswith("_foreach_"):
            return name, self._one_by_one(func, name, in_place, args, kwargs)
        result = self._compute(func, kind, name, in_place, args, kwargs)
        if kind == "round" and self.marks(result if isinstance(result, (tuple, list)) else (result,)) == KEPT_SINGLE:
            self.place_in_fp32()
        return name, result

    def _in_single(self, func, kind, name, args, kwargs):
        """In fp32, operands and result: what belongs to a module that fp32=[...] names."""
        if kind == "product" and floats(args):
            self._exact = True
            try:
                return self._handlers[name](self, *args, **kwargs)
            finally:
                self._exact = False
        result = (on_one_thread if name in REDUCTIONS else call)(func, args, kwargs)
        where = self.where(name, self.module())
        for each in floats(result):
            self.rounding.look(each, args, where)
        return self.mark(result, KEPT_SINGLE)

    def _one_by_one(self, func, name, in_place, args, kwargs):
        """An operation on lists of tensors as one on each."""
        base = name.removeprefix("_foreach_")
        each = getattr(torch.ops.aten, "linalg_vector_norm" if base == "norm" else base + "_" * in_place)
        count = len(next(x for x in args if isinstance(x, (list, tuple))))
        results = []
        self._again(True)
        try:
            for i in range(count):
                own = [x[i] if isinstance(x, (list, tuple)) else x for x in args]
                named = {key: x[i] if isinstance(x, (list, tuple)) else x for key, x in kwargs.items()}
                if base in ("addcmul", "addcdiv") and len(own) > 3:
                    named["value"] = own.pop()
                results.append(each(*own, **named))
        finally:
            self._again(False)
        return None if in_place else results

    def _compute(self, func, kind, name, in_place, args, kwargs):
        if self.stepping:
            return self._optimizer(func, kind, name, in_place, args, kwargs)
        if kind == "product":
            if not any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in args):
                if any(isinstance(x, torch.Tensor) and x.is_complex() for x in args):
                    self.not_emulated[f"{func._schema.name} of complex numbers"] += 1
                return func(*args, **kwargs)
            if not self.strict and any(x.dtype is torch.float64 for x in floats(args)):
                self.not_emulated[f"{func._schema.name} of float64"] += 1
                return func(*args, **kwargs)
            return self._handlers[name](self, *args, **kwargs)
        if kind == "engine" and self.marks(args) == KEPT_SINGLE and not self.passes.backward:
            return self._in_single(func, kind, name, args, kwargs)
        if kind == "engine" and self._inside(floats(args)):
            result = _engine_operations.HANDLERS[name](self, *args, **kwargs)
            if result is not NotImplemented:
                return result
        if kind == "unknown":
            result = self.taken_apart(func, args, kwargs)
            if result is not NotImplemented:
                return result
            if not _has_numbers((*args, *kwargs.values())):
                return func(*args, **kwargs)
            of_types = name in _scaled_products.HANDLERS
            self._refuse(func, *(["leave the recipe out: the types of FP8 tensors decide then"] if of_types else []))
        return self._rounded(func, name, in_place, args, kwargs)

    def _move(self, func, kind, name, in_place, args, kwargs):
        if kind == "move" and self._stack:
            args = self._as_seen(args, in_place)
        if name == "masked_fill" and func._overloadname == "Scalar":
            self._check_value(*args)
        result = func(*args, **kwargs)
        if how := self.marks(args):
            self.mark(result, how)
        is_parameter = kind == "view" and self._is_parameter(args[0])
        if is_parameter:
            for each in floats(result):
                each._ulplab_parameter = True
        if (how or is_parameter) and func is torch.ops.aten.detach.default and self.passes.recomputing:
            if how:  # an own place: the same numbers may be there without the mark
                result = self.mark(result.clone(), how)
            self.passes.marks[result.data_ptr(), result.shape] = how, is_parameter, result.untyped_storage()
        return result

    def _remind(self, args):
        """Marks what a checkpoint has kept, which PyTorch gives the backward pass as new tensors."""
        for x in floats(args):
            how, is_parameter, _ = self.passes.marks.get((x.data_ptr(), x.shape), (NOT_SINGLE, False, None))
            if how:
                self.mark(x, how)
            if is_parameter:
                x._ulplab_parameter = True

    def _check_value(self, x, mask, value):
        """RuntimeError for a number that PyTorch refuses in a tensor of the low type."""
        if self.low == "fp16" and LARGEST["fp16"] < abs(value) < math.inf and not self.is_marked(x) and self._inside([x]):
            raise RuntimeError("value cannot be converted to type at::Half without overflow")

    @staticmethod
    def _is_parameter(x):
        """Whether a value is a parameter, or a view of one."""
        return isinstance(x, torch.Tensor) and (getattr(x, "_ulplab_parameter", False) or
                                                type(x) is not torch.Tensor and isinstance(x, torch.nn.Parameter))

    def _as_seen(self, args, in_place):
        """Arguments with parameters as the model sees them: in the recipe's format."""
        if self.low == "fp32":
            return args
        for i, x in enumerate(args):
            if self._is_parameter(x) and x.is_floating_point() and not (in_place and i == 0):
                args = (*args[:i], self.rounding.vector(x), *args[i + 1:])
        return args

    def _optimizer(self, func, kind, name, in_place, args, kwargs):
        if name.startswith("_fused_"):  # fp32 inside; weights and state are rounded when the step is over
            return func(*args, **kwargs)
        if any(x.dtype in LOW for x in floats(args)):
            return self._by_types(func, args, kwargs)
        if kind == "product":  # of a preconditioner, say
            return self._handlers[name](self, *args, **kwargs) if self.kept_throughout else \
                self._in_single(func, kind, name, args, kwargs)
        result = self.optimizers.compute(func, name, in_place, args, kwargs)
        for each in floats(result):
            self.rounding.look(each, args[1:], self.where(name, "optimizer"))
        return result

    def _by_types(self, func, args, kwargs):
        """What an optimizer computes in 16 bits of its own accord, as Muon does: their types decide."""
        if self._of_types is None:
            self._of_types = Native(self.products.backend, None, (), self.strict, 0)
            self._of_types.count_into(self)
        _, result = self._of_types.compute(func, args, kwargs)
        self._of_types.passes.clear()
        self.rounding.first = self.rounding.first or self._of_types.rounding.first
        return result

    def is_inside(self, x):
        """Whether a tensor is one of the model's: computed in it, or with gradients."""
        return bool(self._inside([x]))

    def _inside(self, tensors):
        """Whether an operation is one of the model's."""
        return bool(tensors) and (self.kept_throughout or self.passes.backward or self._stack
                                  or any(x.requires_grad for x in tensors))

    def _rounded(self, func, name, in_place, args, kwargs):
        tensors = floats(args)
        single = name in self.single or self.marks(tensors) > NOT_SINGLE
        if self.passes.backward and name.endswith(("_backward", "_backward_data")) and name not in self.single:
            single = False  # the gradient of a low operand is low
        if not self._inside(tensors):
            if tensors and self.low != "fp32" and any(x.dim() > 0 and x.dtype is torch.float32 for x in tensors):
                self.left_in_fp32[f"{name} outside of modules"] += 1
            return func(*args, **kwargs)
        if not single:
            args = self._as_seen(args, in_place)
        result = (on_one_thread if name in REDUCTIONS else call)(func, args, kwargs)
        if single:
            return self.mark(result, max(SINGLE, self.marks(args)))
        where = self.where(name, self.module())
        if self.kept_throughout and name in REDUCTIONS and isinstance(result, torch.Tensor) and result.dim() == 0:
            self.rounding.result(result.detach().reshape(1), args, where)
            return result
        for each in floats(result):
            if each.dtype is torch.float32 and not (
                    in_place and isinstance(each, torch.nn.Parameter) and not self.kept_throughout):
                self.rounding.result(each, args, where)
        return result


def _has_numbers(values):
    """Whether a tensor of floating-point numbers is among arguments."""
    return any(_has_numbers(x) if isinstance(x, (list, tuple)) else isinstance(x, torch.Tensor) and x.is_floating_point()
               for x in values)
