"""PyTorch as a card computes it, by the tensors' own types: products in the unit's rows, all else widened to fp32,
computed there, and rounded once to the type of its result. ulplab.torch.emulate without a recipe is the interface."""

from __future__ import annotations

import math

import torch

from . import _autocast, _convolutions, _core, _scaled_products, _torch_products
from ._backends import backend_of, with_ieee
from ._ops import MOVES, REDUCTIONS, ROUNDED, is_sparse, names_of, plain_name, split_names
from ._optimizer_steps import Steps
from ._passes import PASSES
from ._products import _order
from ._report import Report
from ._rounding import Rounding
from ._run import Run, call, floats, on_one_thread, square_root

LOW = {torch.float16: "fp16", torch.bfloat16: "bf16"}
#: Beginnings of the names of operations that multiply inside, in no order that a card promises.
MULTIPLY = ("linalg_", "fft_", "cholesky", "lu_", "geqrf", "ormqr", "triangular_solve", "orgqr")
#: Recipes whose products are a type's.
RECIPES = {torch.float16: "mixed_fp16", torch.bfloat16: "bf16", torch.float32: "fp32", "tf32": "tf32"}
#: Results that CUDA's kernels keep in fp32: means and reciprocal deviations of norms, and of the CTC loss the logarithms of
#: its paths' probabilities, where -inf stands for what no path reaches.
KEPT = {"native_layer_norm": (1, 2), "native_batch_norm": (1, 2), "_native_batch_norm_legit": (1, 2),
        "_fused_rms_norm": (1,), "_ctc_loss": (1,)}
#: Operations whose first result alone is the user's; the others are for the backward pass.
WORKSPACE = {"_ctc_loss"}
#: Results whose type is that of another argument than the first.
TYPED_AS = {"native_layer_norm_backward": (1, 5, 6), "native_group_norm_backward": (1, 4, 4),
            "native_batch_norm_backward": (1, 2, 2)}


class Plan:
    """How an operation is computed, found once: kind, name, which arguments it writes."""

    def __init__(self, func):
        schema = func._schema
        self.name = plain_name(func)
        self.written = [i for i, each in enumerate(schema.arguments)
                        if each.alias_info is not None and each.alias_info.is_write]
        self.keys = [each.name for each in schema.arguments]
        views = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.pointwise = torch.Tag.pointwise in func.tags
        self.ordered = self.name in REDUCTIONS
        self.known = schema.name.startswith(("aten::", "profiler::", "prims::")) and (
            self.pointwise or self.ordered or self.name in ROUNDED or self.name in MOVES
            or self.name.startswith(("_foreach_", "_fused_", "_amp_")) or self.name in KEPT or self.name in TYPED_AS)
        if self.name in PRODUCTS and not self.written and schema.name.startswith("aten::"):
            self.kind = "product"
        elif views or is_sparse(self.name) or self.name.startswith("_amp_") or (
                self.name in MOVES and self.name not in ("_to_copy", "arange", "copy")):
            self.kind = "move"
        elif self.name in ("_to_copy", "copy"):
            self.kind = "cast"
        else:
            self.kind = "sum" if self.name in SUMS and not self.written else "wide"


def _flat(args):
    for each in args:
        if isinstance(each, (list, tuple)):
            yield from _flat(each)
        else:
            yield each


def halving_sum(x, dims):
    """The sum over some dimensions in fp32: the second half is added to the first, until one is left."""
    dims = sorted(d % max(x.dim(), 1) for d in dims) if dims else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in dims]
    count = math.prod(x.shape[d] for d in dims)
    if count == 0 or x.numel() == 0:
        return torch.zeros([x.shape[d] for d in kept])
    x = x.permute(dims + kept).reshape(count, -1)
    while len(x) > 1:
        half = (len(x) + 1) // 2
        y = x[:half].clone()
        y[:len(x) - half] += x[half:]
        x = y
    return x[0]


class Native(Run):
    """Tensors of the types that they have on the card. backend: whose products are computed."""

    by_types = True

    backend: str

    def __init__(self, backend, order, fp32, strict, seed, modules=None):
        operations, in_fp32_modules = split_names(fp32)
        super().__init__(strict, in_fp32_modules, modules)
        if any("recipe" in options for options in self._options.values()):
            raise ValueError("modules={...} gives a recipe, but emulate has none: the tensors' types decide; give emulate a "
                             "recipe")
        self.single = names_of(operations)
        self.backend = backend
        _core.Emulated("fp32", with_ieee(backend), None, seed, [])  # or its ValueError: there is no such unit
        self._order, self._seed = _order(order), seed
        self._engines = {}
        self.scaled_extents = {}  # m and n of scaled products in the forward pass, by module
        self.rounding = Rounding("fp32", False, self.located)
        self.optimizers = Steps()
        self._plans = {}
        self._type = torch.float32

    def step_number(self):
        return self.optimizers.steps

    def _root_entered(self, module):
        self.optimizers.name(module)

    def report(self) -> Report:
        """What was computed up to now: a Report."""
        return Report("the tensors' types", self.backend, self.ways(), self.rounding.modules, self.rounding.first,
                      self.not_emulated, self.optimizers.lost, self.left_in_fp32)

    # ---- products ----

    def engine(self, type, pattern=None):
        """The products of a type on the unit, or as modules={...} says. ValueError where the unit has none of the type."""
        if type is torch.float32 and _allows_tf32():
            type = "tf32"
        if (type, pattern) not in self._engines:
            backend, order = with_ieee(self._backend_of(pattern)), self._order_of(pattern)
            try:
                self._engines[type, pattern] = _core.Emulated(
                    RECIPES[type], backend, None if type is torch.float32 else order, self._seed, [])
            except ValueError as error:
                raise ValueError(f"{backend} has no products of {type}: choose a unit that has them ({error})") from None
        return self._engines[type, pattern]

    def _backend_of(self, pattern):
        options = self._options.get(pattern, {})
        return backend_of(options["unit"]) if "unit" in options else self.backend

    def _order_of(self, pattern):
        options = self._options.get(pattern, {})
        return _order(options["order"]) if "order" in options else self._order

    def backend_for(self, module):
        """What multiplies in a module."""
        return self._backend_of(self.option(module))

    def order_for(self, module):
        """The order of sums in a module, or None."""
        return self._order_of(self.option(module))

    def multiply(self, name, a, b, purpose=None):
        """A * B in fp32, in the row of the operands' type."""
        place = self.place()
        module = place.module if place is not None else self.module()
        found, layer, which, gradient = purpose or self.passes.purpose(a, b, module)
        if place is None:
            module = found
        x, y = (each.detach().float().contiguous().numpy() for each in (a, b))
        engine = self.engine(self._type, self.option(module))
        result = torch.from_numpy(engine.matmul(x, y, layer, _torch_products.OPERATIONS[name], which, gradient))
        self.count_products(module, which, engine, x, result)
        return result, module

    @property
    def has_fp32(self):
        """Whether something is computed in fp32 though its tensors are not."""
        return bool(self._patterns or self.single)

    def one_type(self, name, args, kwargs):
        """The arguments of a product's function where fp32=[...] has made them of two types, by casts that autograd sees:
        in fp32 inside a module that it names, else in the low type."""
        if name not in _autocast.LOW:
            return args, kwargs
        types = _autocast.types_of(args, kwargs)
        if self._fp32.get(self.module(), False):
            return _autocast.in_type(torch.float32, args, kwargs)
        if len(types) < 2:
            return args, kwargs
        return _autocast.in_type(next(t for t in types if t in LOW), args, kwargs)

    def unrounded(self, a, b):
        """A product of a fused kernel, which stays in fp32."""
        self._type = a.dtype
        result, module = self.multiply("bmm", a, b)
        self.rounding.look(result, (a, b), self.where("bmm", module))
        return result

    @staticmethod
    def step(tensor):
        return tensor

    @staticmethod
    def vector(bias):
        return None if bias is None else bias.detach().float()

    @staticmethod
    def sum_rows(matrix):
        return halving_sum(matrix.detach().float(), [0])

    def finish(self, name, result, operands, module, dtype=None, wide=False):
        """A product's result in the type that is computed; wide: as the sum is, in fp32."""
        return self._narrow(result, torch.float32 if wide else self._type, operands, self.where(name, module))

    def _product(self, plan, func, args, kwargs, single):
        types = {x.dtype for x in args if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())}
        if plan.name in _scaled_products.HANDLERS:
            return PRODUCTS[plan.name](self, *args, **kwargs)
        if not types <= {torch.float16, torch.bfloat16, torch.float32}:
            if any(t.is_floating_point or t.is_complex for t in types):
                self.not_emulated[f"{func._schema.name} of {', '.join(sorted(str(t)[6:] for t in types))}"] += 1
            return func(*args, **kwargs)
        if func._overloadname == "dtype":  # with out_dtype: what is added is of the result's type
            types = {x.dtype for x in args[-3:-1]}
        if len(types) > 1 and not self.has_fp32 and not self.passes.backward:
            raise RuntimeError(f"{func._schema.name} has operands of {' and '.join(sorted(str(t)[6:] for t in types))}, which a "
                               "card refuses: expected them to have the same dtype")
        low = [t for t in types if t in LOW]
        self._type = torch.float32 if single or not low else low[0]
        if plan.name == "convolution" and args[2] is not None and self._type in LOW:
            y = PRODUCTS[plan.name](self, *args[:2], None, *args[3:], **kwargs)
            bias = args[2].detach().float().reshape(1, -1, *(1 for _ in y.shape[2:]))
            return self._narrow(y.float() + bias, self._type, args, self.where(plan.name, self.module()))
        return PRODUCTS[plan.name](self, *args, **kwargs)

    # ---- everything else ----

    def _narrow(self, wide, type, operands, where):
        """A result that was computed in fp32, rounded to its type and counted."""
        if type not in LOW:
            self.rounding.look(wide, operands, where)
            return wide if type is torch.float32 or type is None else wide.to(type)
        self.rounding.low = LOW[type]
        try:
            return self.rounding.narrowed(wide, type, operands, where)
        finally:
            self.rounding.low = "fp32"

    def compute(self, func, args, kwargs):
        plan = self._plans.get(func)
        if plan is None:
            plan = self._plans[func] = Plan(func)
        if plan.kind == "move":
            return plan.name, self._move(plan, func, args, kwargs)
        self.remember_place()
        single = plan.name in self.single or self.in_fp32()
        if plan.kind == "product":
            return plan.name, self._product(plan, func, args, kwargs, single)
        return plan.name, self._wide(plan, func, args, kwargs, single)

    def _move(self, plan, func, args, kwargs):
        try:
            return func(*args, **kwargs)
        except (RuntimeError, NotImplementedError) as error:
            if "not implemented for" not in str(error):
                raise
        return self._wide(plan, func, args, kwargs, False)

    def _wide(self, plan, func, args, kwargs, single):
        given = [x for x in _flat((*args, *kwargs.values()))]
        tensors = [x for x in given if isinstance(x, torch.Tensor)]
        types = [x for x in given if isinstance(x, torch.dtype)]
        low = any(x.dtype in LOW for x in tensors) or any(t in LOW for t in types)
        if not plan.known:
            result = self.taken_apart(func, args, kwargs)
            if result is not NotImplemented:
                return result
        self._list_unknown(plan, func, tensors)
        where = self.where(plan.name, self.module())
        if not low:
            result = self._run(plan, func, args, kwargs)
            for each in floats(result[:1] if plan.name in WORKSPACE else result):
                self.rounding.look(each, args, where)
            return result
        if plan.kind == "cast":
            return self._cast(plan, func, args, kwargs, where)
        common = _common(tensors, types)
        ranked = plan.pointwise and any(x.dim() > 0 and x.dtype in LOW for x in tensors)
        widen = lambda x: _widened(x, common if ranked else None)  # noqa: E731
        wide_args, wide_kwargs = widen(tuple(args)), {key: widen(x) for key, x in kwargs.items()}
        result = self._run(plan, func, wide_args, wide_kwargs)
        if plan.name == "native_batch_norm":  # whose schema does not say that it writes the running statistics
            for before, after in zip(args[3:5], wide_args[3:5]):
                if isinstance(before, torch.Tensor) and before is not after:
                    before.copy_(self._narrow(after, before.dtype, args[:1], where))
        if plan.written:
            return self._write_back(plan, args, kwargs, wide_args, wide_kwargs, result, where)
        first = next((x.dtype for x in tensors if x.is_floating_point()), torch.float32)
        by_first = not plan.pointwise and not types and ("norm" in plan.name or "backward" in plan.name)
        as_type = torch.float32 if single else types[-1] if types else first if by_first else common
        return self._typed(plan, result, args, as_type, where)

    def _list_unknown(self, plan, func, tensors):
        if any(x.is_complex() for x in tensors):
            self.not_emulated[f"{func._schema.name} of complex numbers"] += 1
        elif not plan.known and any(x.is_floating_point() for x in tensors):
            if self.strict and plan.name.lstrip("_").startswith(MULTIPLY):
                raise NotImplementedError(
                    f"emulate does not know what {func._schema.name} multiplies; write it with operations that it knows, or "
                    "give strict=False: PyTorch then computes it in fp32, and it is listed in the report")
            self.not_emulated[func._schema.name] += 1

    def _typed(self, plan, result, operands, type, where):
        if isinstance(result, torch.Tensor):
            return self._narrow(result, type, operands, where) if result.dtype is torch.float32 else result
        if not isinstance(result, (tuple, list)):
            return result
        kept = KEPT.get(plan.name, ())
        like = TYPED_AS.get(plan.name)
        lists = plan.name.startswith("_foreach_")
        found = []
        for i, each in enumerate(result):
            if isinstance(each, torch.Tensor) and each.dtype is torch.float32 and i not in kept:
                source = operands[like[i]] if like else operands[0][i] if lists and isinstance(operands[0], (list, tuple)) \
                    else None
                own = source.dtype if isinstance(source, torch.Tensor) else type
                each = self._narrow(each, own if type is not torch.float32 or own not in LOW or lists else type, operands,
                                    where)
            found.append(each)
        return result.__class__(found) if isinstance(result, list) else tuple(found)

    def _write_back(self, plan, args, kwargs, wide_args, wide_kwargs, result, where):
        """Rounds what an operation has written to the tensors that were given."""
        replaced = {}
        for i in plan.written:
            key = plan.keys[i]
            old, new = (args[i], wide_args[i]) if i < len(args) else (kwargs.get(key), wide_kwargs.get(key))
            pairs = zip(old, new) if isinstance(old, (list, tuple)) else ((old, new),)
            for before, after in pairs:
                if isinstance(before, torch.Tensor) and before is not after:
                    changed = after != before if plan.pointwise or plan.name.startswith("_foreach_") else None
                    rounded = self._narrow(after, before.dtype, args[i + 1:], where)
                    if changed is not None:
                        self.rounding.counts(where["module"]).absorbed += int((changed & (rounded == before)).sum())
                    before.copy_(rounded)
                    replaced[id(after)] = before
        if isinstance(result, torch.Tensor):
            return replaced.get(id(result), result)
        return result

    def _cast(self, plan, func, args, kwargs, where):
        source = args[1] if plan.name == "copy" else args[0]
        type = kwargs.get("dtype") if plan.name == "_to_copy" else None
        if type in LOW and source.dtype is torch.float32 and kwargs.get("memory_format") is None and source.numel():
            return self._narrow(source.detach().clone(), type, (source,), where)
        result = func(*args, **kwargs)
        if result.dtype in LOW and source.dtype is torch.float32:
            counts = self.rounding.counts(where["module"])
            counts.rounded += result.numel()
            finite = torch.isfinite(source)
            lost = int((finite & ~torch.isfinite(result)).sum())
            counts.underflows += int(((result == 0) & (source != 0)).sum())
            if lost:
                counts.overflows += lost
                self.rounding.low = LOW[result.dtype]
                at = tuple(int(i) for i in torch.nonzero(finite & ~torch.isfinite(result))[0])
                self.rounding.look(result, (source,), where, (at, float(source[at])))
                self.rounding.low = "fp32"
        return result

    def _run(self, plan, func, args, kwargs):
        if plan.kind == "sum" and _in_fp32(args):
            found = SUMS[plan.name](*args, **kwargs)
            if found is not NotImplemented:
                return found
        lists = plan.name.startswith(("_foreach_", "_fused_")) and plan.name != "_foreach_norm"
        return on_one_thread(func, args, kwargs) if plan.ordered or not (plan.pointwise or lists) else call(func, args, kwargs)


def _in_fp32(args):
    return isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32


def _allows_tf32():
    return torch.backends.cuda.matmul.allow_tf32


def _common(tensors, types):
    """The type of a result, by PyTorch's rules: tensors with extents first."""
    numbers = [x for x in tensors if x.is_floating_point()]
    ranked = [x for x in numbers if x.dim() > 0] or numbers
    found = {x.dtype for x in ranked}
    if not found:
        return types[-1] if types else torch.float32
    if len(found) == 1:
        return found.pop()
    return torch.float64 if torch.float64 in found else torch.float32


def _widened(x, common):
    """In fp32. A number without extents is of the common type first, as CUDA's kernels load it."""
    if isinstance(x, torch.Tensor):
        if x.dtype in LOW:
            return x.float()
        if common in LOW and x.dtype is torch.float32 and x.dim() == 0:
            return x.to(common).float()
        return x
    if isinstance(x, torch.dtype):
        return torch.float32 if x in LOW else x
    if isinstance(x, (list, tuple)):
        return type(x)(_widened(each, common) for each in x)
    return x


def _reduced(x, dims, keepdim, reduce):
    dims = [dims] if isinstance(dims, int) else dims
    dims = [d % max(x.dim(), 1) for d in dims] if dims else list(range(x.dim()))
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    count = math.prod(x.shape[d] for d in dims)
    return reduce(x.detach(), dims, count).reshape(shape)


def _sum(x, dim=None, keepdim=False, *, dtype=None):
    if dtype not in (None, torch.float32):
        return NotImplemented
    return _reduced(x, dim, keepdim, lambda y, dims, n: halving_sum(y, dims))


def _mean(x, dim=None, keepdim=False, *, dtype=None):
    if dtype not in (None, torch.float32) or x.numel() == 0:
        return NotImplemented
    return _reduced(x, dim, keepdim, lambda y, dims, n: halving_sum(y, dims) * float(torch.tensor(1.0 / n)))


def _norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if ord != 2 or dtype not in (None, torch.float32):
        return NotImplemented
    return _reduced(x, dim, keepdim, lambda y, dims, n: square_root(halving_sum(y * y, dims)))


SUMS = {"sum": _sum, "mean": _mean, "linalg_vector_norm": _norm}


PRODUCTS = {**_torch_products.HANDLERS, **_convolutions.HANDLERS, **_scaled_products.HANDLERS}
