"""A run in fp32 beside an emulated one: each tensor has a companion, and each operation is computed again on companions.

What is not finite, absorbed, zero, merged or left where it was in low precision alone is told from what fp32 does, too.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from ._analysis import _Printed
from ._ops import MOVES, plain_name
from ._private import hide_from_compiler
from ._report import plain
from ._run import paused

FORMATS = {"fp16": torch.float16, "bf16": torch.bfloat16}
WIDE = {torch.float32: torch.float32, torch.float64: torch.float64}
UNFILLED = frozenset("empty empty_like empty_strided new_empty new_empty_strided resize set detach".split())
QUOTIENTS = frozenset("div exp reciprocal rsqrt".split())
NORMS = frozenset("""_foreach_norm linalg_vector_norm mean native_group_norm native_layer_norm norm rms_norm std sum
var""".split())
ADDS = frozenset(["add", "sub"])
PRODUCTS = frozenset(["mm", "addmm", "bmm", "baddbmm", "convolution", "linear"])

#: What goes wrong in operations without an infinity: kind, the field that counts it, of what, a sentence.
SILENT = (("became zero", "zeroed", "results", "results of {} are 0; in fp32 they are numbers that the format holds"),
          ("positions merged", "merged", "results", "results of {} are equal to neighbours from which they differ in fp32"),
          ("saturation", "saturated", "results", "numbers (of operands, where it is a product) saturate at {}"),
          ("swamped sum", "absorbed", "addends", "addends of {} change nothing"))


def relative_error(low, wide):
    """|low - wide| / |wide| in the Euclidean norm; infinite where low is not finite and wide is, 0 where both are not."""
    low, wide = low.detach().double(), wide.detach().double()
    known = torch.isfinite(wide)
    if not bool(torch.isfinite(low[known]).all()):
        return float("inf")
    size = float(torch.linalg.vector_norm(wide[known]))
    error = float(torch.linalg.vector_norm((low - wide)[known]))
    return error / size if size > 0 else float(error > 0)


def _finite(tensor):
    return bool(torch.isfinite(tensor).all())


def _merged(low, wide, unit):
    """How many positions (an arithmetic progression) or rows that differ by more than rounding in fp32 are equal in low."""
    line = wide.squeeze()
    if line.dim() == 1 and line.numel() > 2:
        steps = line.diff()
        if steps[0] != 0 and bool(((steps - steps[0]).abs() <= 1e-3 * steps[0].abs()).all()):
            return int((low.squeeze().diff() == 0).sum())
    if wide.dim() < 2 or wide.shape[-1] < 4 or not 1 < wide[..., 0].numel() <= 4096:
        return 0
    rows, exact = (x.reshape(-1, x.shape[-1]).double() for x in (low, wide))
    weights = torch.arange(1, rows.shape[1] + 1, dtype=torch.float64).sqrt()
    order = (rows * weights).sum(1).argsort()
    a, b = order[:-1], order[1:]
    equal = (rows[a] == rows[b]).all(1) & (rows[a] != 0).any(1)
    return int((equal & ((exact[a] - exact[b]).abs().amax(1) > 4 * unit * exact[a].abs().amax(1))).sum())


def _key(storage):
    return StorageWeakRef(storage).cdata


def _whole(tensor):
    """All numbers of the tensor's storage."""
    return tensor.detach().as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)


class _Companion:
    """The fp32 numbers of a storage; the module that last used it going forward; its error; what it was before it was
    updated."""

    def __init__(self, storage, numbers):
        self.alive, self.numbers = StorageWeakRef(storage), numbers
        self.module, self.error = "", 0.0
        self.before = self.after = None


class Shadow(TorchDispatchMode):
    """Entered inside an emulation, it computes every operation of it a second time in fp32."""

    def __init__(self, run, bound=0.05):
        super().__init__()
        self.run = run
        self.bound = bound
        self.entries = {}  # by module, pass, operation and line, in the order in which they were computed
        self.first = None  # the first value that low precision alone makes infinite or NaN
        self.first_fp32 = None  # the first that fp32 makes so
        self.first_error = None  # the first operation whose error exceeds the bound
        self.not_followed = {}
        self.read = {}  # numbers that the program has read: as they are in fp32
        self.returned = self.learns = False  # whether a backward pass has been; whether one is to come
        self._known = {}
        self._names = {}  # by storage: name, parameter
        self._updates = {}
        self.updates = {}  # by name
        self._purge_at = 4096
        self._idle = False
        self._counted = 0

    def __enter__(self):
        hide_from_compiler(Shadow)
        self._hook = torch.nn.modules.module.register_module_forward_pre_hook(self._entered)
        return super().__enter__()

    def __exit__(self, *error):
        self._hook.remove()
        return super().__exit__(*error)

    def _entered(self, module, args):
        for name, each in [*module.named_parameters(), *module.named_buffers()]:
            key = _key(each.untyped_storage())
            if key not in self._names or self._names[key][1]() is None:
                self._names[key] = (name, weakref.ref(each))

    # ---- companions ----

    @staticmethod
    def _follows(x):
        return isinstance(x, torch.Tensor) and x.is_floating_point() and x.layout is torch.strided and \
            x.device.type == "cpu"

    def _record(self, tensor):
        storage = tensor.untyped_storage()
        known = self._known.get(_key(storage))
        if known is None or known.alive.expired() or len(known.numbers) != storage.nbytes() // tensor.element_size():
            known = self._keep(storage, _whole(tensor).to(WIDE.get(tensor.dtype, torch.float32), copy=True))
        return known

    def _keep(self, storage, numbers):
        if len(self._known) > self._purge_at:
            self._known = {key: each for key, each in self._known.items() if not each.alive.expired()}
            self._purge_at = 2 * len(self._known) + 4096
        known = self._known[_key(storage)] = _Companion(storage, numbers)
        return known

    def of(self, tensor):
        """The tensor as fp32 has it; of a number that was read from a tensor, that one's."""
        if isinstance(tensor, float):
            return self.read.get(tensor, tensor)
        if not self._follows(tensor):
            return tensor
        with self.quiet():
            return self._view(self._record(tensor), tensor).clone()

    @contextlib.contextmanager
    def quiet(self):
        """What runs inside is plain PyTorch, of which nothing is said."""
        self._idle, before = True, self._idle
        try:
            with paused(), torch.no_grad():
                yield
        finally:
            self._idle = before

    def multiply(self, tensor, factor):
        """In place, in both runs, as a scaler does."""
        with self.quiet():
            self._view(self._record(tensor), tensor).mul_(factor)
            tensor.mul_(factor)

    @staticmethod
    def _view(known, tensor):
        return known.numbers.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())

    def _set(self, tensor, wide):
        """A new tensor's companion."""
        numbers = torch.zeros_like(_whole(tensor), dtype=WIDE.get(tensor.dtype, torch.float32))
        known = self._keep(tensor.untyped_storage(), numbers)
        self._view(known, tensor).copy_(wide)
        return known

    # ---- operations ----

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        schema, name = func._schema, plain_name(func)
        writes = [i for i, each in enumerate(schema.arguments) if each.alias_info is not None and each.alias_info.is_write]
        writes = [3, 4] if name == "native_batch_norm" else writes  # running statistics
        views = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        if self._idle or not self.run.is_innermost() or views or name in UNFILLED or not schema.name.startswith("aten::"):
            return func(*args, **kwargs)
        operands = []

        def widened(x):
            if isinstance(x, torch.dtype):
                return torch.float32 if x.is_floating_point and x is not torch.float64 else x
            if not self._follows(x) or (x.dim() == 0 and x.dtype is torch.float64):
                return x
            operands.append((x, self._record(x)))
            return self._view(operands[-1][1], x)

        with paused():
            wide = tree_map(widened, (args, kwargs))
            where = self._where(name, operands)
            changed = [x for i in writes for x in tree_leaves(args[i] if i < len(args) else
                                                              kwargs.get(schema.arguments[i].name)) if self._follows(x)]
            self._before(changed, where)
            finite = all(_finite(x) for x, _ in operands), all(_finite(known.numbers) for _, known in operands)
            kept = (args[0].clone(), wide[0][0].clone()) if name in ADDS and changed else None
        try:
            result = func(*args, **kwargs)
        except RuntimeError as error:
            if "without overflow" in str(error):
                self._entry(where)["constant"] = next((x for x in args if isinstance(x, (int, float))), None)
                self.first = self.first or {**where, "value": str(error).splitlines()[0], "operands": self._texts(args)}
            raise
        with paused():
            call = _Call(name, where, args, wide[0], operands, finite, kept)
            self._follow(call, func, wide, result, changed)
        return result

    def _follow(self, call, func, wide, result, changed):
        if isinstance(result, float):
            self.read[result] = float(wide[0][0])
            return
        lows = [x for x in tree_leaves(result) if self._follows(x)]
        if not lows and not changed:
            return
        known, results = self._again(call.name, func, *wide)
        if not known:
            for each in lows or changed:
                self._view(self._record(each), each).copy_(each)
            return
        exact = [x for x in tree_leaves(results) if self._follows(x)]
        inside = {_key(known.numbers.untyped_storage()) for _, known in call.operands}
        for low, each in zip(lows, exact) if lows else [(x, self._view(self._record(x), x)) for x in changed]:
            if low.numel() == 0:
                continue
            known = self._record(low) if _key(each.untyped_storage()) in inside else self._set(low, each)
            self._compare(call, low, each, known)
        for each in changed:
            known = self._record(each)
            if known.before is not None:
                known.after = _whole(each).clone()

    def _again(self, name, func, args, kwargs):
        """Whether fp32 can compute the operation, and what it gives; random numbers are those of low precision."""
        if torch.Tag.nondeterministic_seeded in func.tags:
            return False, None
        if name in ("_softmax", "_log_softmax"):
            args = (*args[:2], False)  # half to float
        try:
            return True, func(*args, **kwargs)
        except (RuntimeError, TypeError) as error:
            self.not_followed[name] = str(error).splitlines()[0]
            return False, None

    def _where(self, name, operands):
        """The pass is "update" after a backward pass, up to the next module or operand that needs a gradient."""
        where = self.run.located(self.run.where(name, self.run.module()))
        del where["step"]
        self.learns = where["pass"] == "forward" and torch.is_grad_enabled() and (
            bool(self.run.module()) or any(x.requires_grad for x, _ in operands))
        if where["pass"] == "backward":
            self.returned = True
            where["module"] = where["module"] or next((each.module for _, each in operands if each.module), "")
        elif where["pass"] == "forward":
            self.returned = self.returned and not self.learns
            where["pass"] = "update" if self.returned else "forward"
            for _, each in operands:
                each.module = where["module"]
        return where

    def _entry(self, where):
        key = (where["module"], where["pass"], where["operation"], where["line"])
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = {**where, "calls": 0, "error": 0.0, "before": 0.0, "unit": 0.0,
                                         "constant": None,
                                         **dict.fromkeys(("zeroed", "underflows", "subnormal", "absorbed", "addends",
                                                          "saturated", "merged", "results"), 0)}
        return entry

    @staticmethod
    def _texts(args):
        found = []
        for x in args:
            tensors = [each for each in tree_leaves(x) if isinstance(each, torch.Tensor) and each.is_floating_point()]
            found += [f"{each.item():.6g}" if each.dim() == 0 else f"{tuple(each.shape)} up to {each.abs().max().item():.6g}"
                      for each in tensors if each.numel()]
            if isinstance(x, (int, float)) and not isinstance(x, bool):
                found.append(f"{x:g}")
        return found

    def _compare(self, call, low, wide, known):
        entry = self._entry(call.where)
        entry["calls"] += 1
        entry["results"] += low.numel()
        info = torch.finfo(FORMATS.get(getattr(self.run, "low", None), low.dtype) if low.dtype is torch.float32
                           else low.dtype)
        entry["unit"], error = info.eps, relative_error(low, wide)
        if call.where["pass"] == "forward":
            known.module = call.where["module"]
        known.error = error
        if error >= entry["error"]:
            entry["error"], entry["before"] = error, call.error
        place = {**call.where, "operands": self._texts(call.args)} if error == float("inf") or not call.finite[1] or \
            not _finite(wide) else None
        if not _finite(low) and call.finite[0] and error == float("inf") and self.first is None:
            where = torch.nonzero(~torch.isfinite(low) & torch.isfinite(wide))[0].tolist()
            self.first = {**place, "element": tuple(where), "value": low[tuple(where)].item(),
                          "fp32": wide[tuple(where)].item(), "largest": info.max}
        if not _finite(wide) and call.finite[1] and self.first_fp32 is None and call.name not in MOVES:
            self.first_fp32 = place
        if self.first_error is None and self.bound < error < float("inf") and call.error <= self.bound:
            self.first_error = {**call.where, "error": error, "before": call.error}
        zero = (low == 0) & (wide != 0)
        tiny = wide.abs() < info.smallest_normal
        entry["underflows"] += int((zero & tiny).sum())
        entry["subnormal"] += int((tiny & (wide != 0)).sum())
        entry["zeroed"] += self._zeroed(call, low, wide, zero & ~tiny)
        if low.element_size() == 1:
            entry["saturated"] += int(((low.float().abs() == info.max) & (wide.abs() > 1.0625 * info.max)).sum())
        if call.name in PRODUCTS and getattr(self.run, "recipe", {}).get("quantised"):
            entry["saturated"] += self._saturated()
        for constant in call.constants():
            outside = abs(constant) > info.max or abs(constant) < info.smallest_normal * info.eps / 2
            if abs(constant) > info.max or (outside and bool(zero.any())):
                entry["constant"] = constant
        if call.where["pass"] == "forward" and not entry["merged"] and call.error < 1:
            entry["merged"] = _merged(low, wide, info.eps)
        self._count_absorbed(call, low, wide, entry)

    @staticmethod
    def _zeroed(call, low, wide, zero):
        """Of results that are 0 here alone: quotients of what is not 0, and norms and means that fp32 finds to be no less
        than a hundredth of what they are of."""
        first, exact = call.args[0] if call.args else None, call.wide[0] if call.wide else None
        if not isinstance(first, torch.Tensor) or not bool(zero.any()):
            return 0
        if call.name in QUOTIENTS:
            return int((zero & (first != 0)).sum()) if first.shape == low.shape else 0
        return int((zero & (wide.abs() > 0.01 * exact.abs().max())).sum()) if call.name in NORMS else 0

    def _saturated(self):
        """How many numbers of operands saturated in the products since the last look."""
        before, self._counted = self._counted, sum(each.saturated for each in self.run.rounding.modules.values())
        return self._counted - before

    @staticmethod
    def _count_absorbed(call, low, wide, entry):
        if call.name in ADDS and len(call.args) > 1 and all(isinstance(x, torch.Tensor) and x.dtype is not torch.float64
                                                            for x in call.args[:2]):
            (a, b), (wide_a, wide_b) = call.args[:2], call.wide[:2]
            if call.kept is not None:
                a, wide_a = call.kept
            for x, y, exact in ((a, b, wide_a), (b, a, wide_b)):
                entry["absorbed"] += int(((low == x) & (y != 0) & (wide != exact)).sum())
            entry["addends"] += low.numel()
        elif call.name == "cumsum" and low.dim() > 0:
            dim = call.args[1]
            lost = (low.diff(dim=dim) == 0) & (wide.diff(dim=dim) != 0)
            entry["absorbed"] += int(lost.sum())
            entry["addends"] += lost.numel()

    # ---- updates ----

    def _before(self, changed, where):
        """Keeps what updates change. What has a backward pass to come ends them."""
        if self.learns:
            self._settle()
        for each in changed if where["pass"] != "backward" else ():
            key, known = _key(each.untyped_storage()), self._record(each)
            if not self.learns or key in self._names:
                known.before = known.before or (_whole(each).clone(), known.numbers.clone())
                self._updates[key] = known

    def _settle(self):
        """Counts by name the numbers that fp32 has moved since, and those of them that stood still in low precision."""
        updates, self._updates = self._updates, {}
        for key, known in updates.items():
            name, parameter = self._names.get(key, ("a tensor outside of modules", lambda: None))
            (low, wide), known.before = known.before, None
            if known.alive.expired():
                continue
            now = parameter()
            now = known.after if now is None else _whole(now)
            moved = known.numbers != wide
            entry = self.updates.setdefault(name, {"updates": 0, "of": 0, "lost": 0, "fp32_moves_by": 0.0})
            entry["updates"] += 1
            entry["of"] += int(moved.sum())
            entry["lost"] += int((moved & (now == low)).sum())
            entry["fp32_moves_by"] = max(entry["fp32_moves_by"], float((known.numbers - wide).abs().max()))

    def report(self):
        with self.quiet():
            self._settle()
        return Against(self)


class _Call:
    """An operation: operands in low precision and in fp32, whether they were finite, their largest error."""

    def __init__(self, name, where, args, wide, operands, finite, kept):
        self.name, self.where, self.args, self.wide = name, where, args, wide
        self.operands, self.finite, self.kept = operands, finite, kept
        self.error = max((known.error for _, known in operands), default=0.0)

    def constants(self):
        """The numbers among its arguments."""
        for x in self.args:
            if isinstance(x, torch.Tensor) and x.dim() == 0 and x.dtype is torch.float64:
                x = x.item()
            if isinstance(x, (int, float)) and not isinstance(x, bool) and x and x - x == 0:
                yield float(x)


class Answer(_Printed):
    """An answer as an object: it prints, in notebooks too, and its fields are JSON."""

    def to_json(self) -> str:
        return json.dumps(plain(self))


class Against(Answer):
    """What an fp32 run beside the emulated one shows.

    operations     dictionaries in the order of computation: module, pass, operation, line, calls, results; error (the
                   largest, relative to fp32 in the Euclidean norm), before (that of its operands), unit (the format's last
                   place at 1); subnormal (numbers of fp32 below the format's normal ones), underflows (of these, those
                   that are 0), zeroed (norms, means, quotients that are 0 though fp32 has a number that the format holds),
                   absorbed of addends, saturated (FP8), merged (positions or rows), constant (that the format lacks)
    first_error    the first whose error exceeds bound though its operands' does not
    first_not_finite, first_not_finite_in_fp32   where low precision alone, or fp32 too, leaves the finite numbers
    updates        by parameter, buffer or average: of (numbers that fp32 moved), lost (of these, unmoved here)
    not_followed   operations that fp32 could not repeat, with the reason
    """

    bound: float
    operations: list[dict[str, Any]]
    first_error: dict[str, Any] | None
    first_not_finite: dict[str, Any] | None
    first_not_finite_in_fp32: dict[str, Any] | None
    updates: dict[str, dict[str, Any]]
    not_followed: dict[str, str]

    def __init__(self, shadow):
        self.bound = shadow.bound
        self.operations = [dict(each) for each in shadow.entries.values()]
        self.first_error = shadow.first_error
        self.first_not_finite = shadow.first
        self.first_not_finite_in_fp32 = shadow.first_fp32
        self.updates = {name: dict(each) for name, each in shadow.updates.items()}
        self.not_followed = dict(shadow.not_followed)

    def findings(self) -> list[tuple[str, dict[str, Any], str]]:
        """(kind, place, sentence) of what is wrong without an infinity, the gravest first."""
        found = []
        for each in self.operations:
            share = 0.01 if each["operation"] == "cumsum" else 0.25
            swamped = each["absorbed"] > share * each["addends"] > 4 and each["error"] > 2 * each["unit"]
            found += [(kind, each, f"{each[count]} of {each[of]} {text.format(place_of(each))}") for kind, count, of, text
                      in SILENT if each[count] and (count != "absorbed" or swamped)]
        for name, each in sorted(self.updates.items(), key=lambda item: -item[1]["lost"]):
            if each["lost"] * 2 > each["of"] > 0:
                kind = "average stands still" if name.startswith("a tensor") else "updates lost"
                found.append((kind, {"module": name, "operation": "update"},
                              f"{each['lost']} of {each['of']} numbers of {name} stand still; fp32 moves them by up to "
                              f"{each['fp32_moves_by']:.2g}"))
        if self.first_error is not None:
            each = self.first_error
            found.append(("error", each, f"the relative error rises from {each['before']:.2g} to {each['error']:.2g} at "
                                         f"{place_of(each)}"))
        return found

    def __repr__(self):
        worst = sorted(self.operations, key=lambda each: -each["error"])[:8]
        lines = [f"against fp32: {len(self.operations)} operations; the largest relative errors (before: of operands):"]
        lines += [f"  {each['error']:>9.2g}  before {each['before']:<9.2g} {place_of(each)}" for each in worst]
        for title, first in (("not finite in fp32, too", self.first_not_finite_in_fp32),
                             ("not finite in low precision alone", self.first_not_finite)):
            if first:
                lines.append(f"  {title}: {place_of(first)}")
        lines += [f"  {kind}: {sentence}" for kind, _, sentence in self.findings()]
        if self.not_followed:
            lines.append(f"  taken from low precision: {', '.join(self.not_followed)}")
        return "\n".join(lines)


def place_of(where):
    """"mul of norm, forward, model.py:12"."""
    parts = [f"{where['operation']} of {where['module']}" if where.get("module") else where["operation"],
             where.get("pass"), where.get("line")]
    return ", ".join(part for part in parts if part)


class _Beside:
    """An emulation with an fp32 run beside it; its report has what that shows as `against`."""

    def __enter__(self):
        run = super().__enter__()
        self.shadow = Shadow(self, self.bound)
        self.shadow.__enter__()
        return run

    def __exit__(self, *error):
        self.shadow.__exit__(*error)
        return super().__exit__(*error)

    def report(self):
        report = super().report()
        report.against = self.shadow.report()
        return report


def beside(kind):
    """The class of emulations of a kind that have an fp32 run beside them."""
    return type(f"{kind.__name__}Beside", (_Beside, kind), {})
