"""What an emulated run did: products, overflows and underflows by module, and the first value that is not finite."""

from __future__ import annotations

import html
import json
import math
import os
from typing import TYPE_CHECKING, Any, TypedDict

import torch

if TYPE_CHECKING:
    from ._shadow import Against

#: What a report says of a module; the docstring of Report says what each is.
ModuleCounts = TypedDict("ModuleCounts", {
    "products": "dict[str, int]", "multiplications": int, "overflows": int, "underflows": int, "rounded": int,
    "largest": float, "absorbed": int, "saturated": int})
#: The first value that is not finite.
NotFinite = TypedDict("NotFinite", {
    "module": str, "pass": str, "step": int, "operation": str, "line": "str | None", "element": "tuple[int, ...]",
    "value": float, "operands": "list[dict[str, Any]]", "exact": "float | None", "before": "dict[str, float]", "remedy": str})
#: What steps have left of a parameter where it was.
LostUpdates = TypedDict("LostUpdates", {"elements": int, "unmoved": int, "steps": int})


class Counts:
    """Of one module: products and multiplications by pass, what rounding made of results, and their largest magnitude."""

    __slots__ = ("products", "multiplications", "overflows", "underflows", "rounded", "largest", "absorbed", "saturated")

    def __init__(self):
        self.products = {}
        self.multiplications = 0
        self.overflows = self.underflows = self.rounded = self.absorbed = self.saturated = 0
        self.largest = 0.0

    def as_dict(self):
        return {name: getattr(self, name) for name in self.__slots__}


class Products(dict[str, int]):
    """Products by module; compares, adds and prints as their total where a number is wanted."""

    def __int__(self) -> int:
        return sum(self.values())

    __index__ = __int__

    def __gt__(self, number: float) -> bool:
        return int(self) > number

    def __ge__(self, number: float) -> bool:
        return int(self) >= number

    def __lt__(self, number: float) -> bool:
        return int(self) < number

    def __le__(self, number: float) -> bool:
        return int(self) <= number

    def __eq__(self, other: object) -> bool:
        return int(self) == other if isinstance(other, (int, float)) else dict(self) == other

    __hash__ = None  # type: ignore[assignment]


def bare_name(operation):
    """"softmax" for "_softmax", "layer_norm" for "native_layer_norm"."""
    return operation.lstrip("_").removeprefix("native_").removeprefix("foreach_").removeprefix("to_")


def described(operands, place, shape):
    """Operands for a report: tensors by shape, type and largest finite magnitude, with the element at a place of the same
    shape; numbers as they are."""
    found = []
    for x in operands:
        if isinstance(x, (list, tuple)):
            found += described([each for each in x if isinstance(each, torch.Tensor)], place, shape)
        elif isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel():
            magnitudes = torch.nan_to_num(x.detach().float(), 0.0, 0.0, 0.0).abs()
            found.append({"shape": tuple(x.shape), "type": str(x.dtype)[6:], "largest": float(magnitudes.max()),
                          "smallest": float(x.detach().float().abs().min())})
            if tuple(x.shape) == tuple(shape):
                found[-1]["value"] = float(x.detach()[place])
        elif isinstance(x, (int, float)) and not isinstance(x, bool):
            found.append({"value": x})
    return found


_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward", "scaled_mm", "mv", "dot")
_DIVISIONS = ("div", "addcdiv", "reciprocal", "rsqrt", "log", "log2", "log10", "pow", "sqrt", "div_")


def remedy_of(first, format):
    """What a first value that is not finite asks for, from its numbers."""
    limit = LARGEST.get(format, LARGEST["fp32"])
    operation, module, exact = first["operation"], first["module"], first.get("exact")
    target = module if module and (operation in _PRODUCTS or "backward" in operation) else operation
    in_fp32 = f"compute {target} in fp32: fp32=['{target}']"
    divides = operation in _DIVISIONS and any(x.get("smallest", 1) == 0 or x.get("value", 1) == 0 for x in first["operands"])
    if first["pass"] == "optimizer":
        return ("a divisor is 0: keep weights and moments in fp32 (masters), or give the optimizer an eps that "
                f"{format} holds beside its moments (1e-4, at least {TINY.get(format, 0):.1g})" if divides or math.isnan(
                    first["value"]) else "keep weights and moments in fp32 (masters), or lower the learning rate")
    if exact is not None and math.isfinite(exact) and abs(exact) > limit:
        if operation in ("mul", "add", "sub", "rsub") and any(x.get("value", 0) < -limit for x in first["operands"]):
            return f"{exact:.6g} is below {format}'s lowest number {-limit:g}: mask with torch.finfo(x.dtype).min in its place"
        if operation == "copy":
            return (f"{exact:.6g} is outside of {format}, whose largest number is {limit:g}: keep it in fp32 or bf16, or clamp "
                    "it first")
        power = math.floor(math.log2(limit / abs(exact)))
        if first["pass"] == "backward":
            return (f"{abs(exact):.6g} is above {format}'s largest number {limit:g}: lower the loss scale by 2^{power} or more, "
                    f"or {in_fp32}")
        return (f"{abs(exact):.6g} is above {format}'s largest number {limit:g}: {in_fp32}; or scale by at most 2^{power}; or "
                f"clamp at {limit:g}" + ("; or use bf16" if format == "fp16" else ""))
    if "softmax" in operation:
        return ("a row has nothing but -inf: mask with torch.finfo(x.dtype).min, or set such rows to 0 by torch.where after "
                "the softmax")
    if divides and first["pass"] == "forward":
        return (f"a divisor is 0: add an eps that {format} holds (at least {TINY.get(format, 0):.1g}, rather 1e-4), or {in_fp32} "
                "from the square on")
    if first["pass"] == "backward" or divides:
        return ("it is so at any loss scale, and in fp32 where its operands are the same: add an eps inside the square root, "
                "or to the divisor")
    return in_fp32


LARGEST = {"fp16": 65504.0, "bf16": 3.3895313892515355e38, "fp32": 3.4028234663852886e38}
TINY = {"fp16": 2.0**-24, "bf16": 2.0**-133, "fp32": 2.0**-149}


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title><style>
:root {{ color-scheme: light dark }} body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 1rem auto;
padding: 0 1rem }} .verdict {{ font-size: 1.25rem }} .wide {{ overflow-x: auto }} table {{ border-collapse: collapse }}
th, td {{ padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid #8886 }}
</style></head><body><main><h1>{title}</h1>
{body}
</main></body></html>
"""


def write_page(file, title, body):
    temporary = f"{os.fspath(file)}.part"
    with open(temporary, "w", encoding="utf-8") as out:
        out.write(PAGE.format(title=html.escape(title), body=body))
    os.replace(temporary, file)


def table(head, rows):
    cells = ["".join(f"<td>{html.escape(str(x))}</td>" for x in row) for row in rows]
    return ("<div class='wide' tabindex='0'><table><thead><tr>" + "".join(f"<th scope='col'>{html.escape(x)}</th>" for x in head) +
            "</tr></thead><tbody>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</tbody></table></div>")


class Report:
    """modules          a dictionary for each module's path: products by pass, multiplications, overflows, underflows
                        (nonzero results that became zero), rounded (results), largest (magnitude among its results,
                        until one is not finite), absorbed (elements that an update in place left as they were), saturated
                        (numbers of products' operands that the scales of FP8 and FP4 leave no room for)
    products            their number by module; int(report.products) is the total
    first_not_finite    None, or a dictionary: module, pass, step, operation, element, value, line (of the user's code),
                        operands (shape, type, largest and smallest magnitude), exact (before rounding), before (the
                        largest results by module until then), remedy
    lost_updates        by parameter: elements whose weight a step did not move though their gradient was not 0
    not_emulated        operations (and other things) that PyTorch computed, with how often
    left_in_fp32        operations outside of modules that a recipe left in fp32, with how often
    path                what computed how many products: rows of the table of units, orders
    against             with emulate(..., against="fp32"): an Against, what the fp32 run beside shows
    """

    recipe: str
    backend: str
    path: str
    modules: dict[str, ModuleCounts]
    first_not_finite: NotFinite | None
    not_emulated: dict[str, int]
    lost_updates: dict[str, LostUpdates]
    left_in_fp32: dict[str, int]
    against: Against | None = None

    def __init__(self, recipe, backend, path, modules, first, not_emulated, lost_updates=None, left_in_fp32=None):
        self.recipe = recipe
        self.backend = backend
        self.path = ", ".join(f"{number} in {way}" for way, number in path.items()) or "no unit asked"
        self.modules = {name: counts.as_dict() for name, counts in modules.items()}
        self.first_not_finite = None if first is None else dict(first)
        self.not_emulated = dict(not_emulated)
        self.lost_updates = {name: dict(each) for name, each in (lost_updates or {}).items()}
        self.left_in_fp32 = dict(left_in_fp32 or {})

    @property
    def products(self) -> Products:
        return Products({name: sum(each["products"].values()) for name, each in self.modules.items() if each["products"]})

    @property
    def overflows(self) -> int:
        return sum(each["overflows"] for each in self.modules.values())

    @property
    def underflows(self) -> int:
        return sum(each["underflows"] for each in self.modules.values())

    def to_json(self) -> str:
        """The report as JSON text; infinities and NaN as texts."""
        fields = {**self.__dict__, "products": dict(self.products), "overflows": self.overflows,
                  "underflows": self.underflows}
        return json.dumps(plain(fields))

    def verdict(self) -> str:
        """The report in a sentence: the first failure that it knows, with the remedy."""
        first = self.first_not_finite
        if first:
            return (f"{first['value']} in {first['operation']} of {first['module'] or 'no module'} ({first['pass']}, step "
                    f"{first['step']}{', ' + first['line'] if first['line'] else ''}). Remedy: {first['remedy']}.")
        counts = {"updates that moved no weight": sum(each["unmoved"] for each in self.lost_updates.values()),
                  "updates in place that changed nothing": sum(each["absorbed"] for each in self.modules.values()),
                  "saturated operands": sum(each["saturated"] for each in self.modules.values())}
        silent = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        if not silent:
            return "All values are finite, and no loss without an infinity was seen."
        return (f"All values are finite; but {silent}." + (
            " Remedy: fp32 masters, or new weights rounded stochastically." if self.lost_updates else ""))

    def _repr_html_(self) -> str:
        passes, counts = ("forward", "input gradient", "weight gradient"), ("overflows", "underflows", "absorbed", "saturated")
        parts = [f"<p class='verdict'>{html.escape(self.verdict())}</p>", f"<p>{html.escape(repr(self).splitlines()[0])}</p>"]
        if self.first_not_finite:
            parts += ["<h2>Where it began</h2>", table(("what", "value"), self.first_not_finite.items())]
        parts += ["<h2>By module</h2>", table(
            ("module", *passes, *counts, "largest"),
            [(name or "(no module)", *(each["products"].get(x, 0) for x in passes), *(each[x] for x in counts),
              f"{each['largest']:.4g}") for name, each in self.modules.items()])]
        if self.lost_updates:
            parts += ["<h2>Updates lost</h2>", table(("parameter", "weights", "not moved", "steps"), [
                (name, each["elements"], each["unmoved"], each["steps"]) for name, each in self.lost_updates.items()])]
        for title, found in (("Not emulated", self.not_emulated), ("Left in fp32", self.left_in_fp32)):
            parts += [f"<h2>{title}</h2>", table(("what", "times"), found.items())] if found else []
        if self.against is not None:
            parts += ["<h2>Against fp32</h2>", f"<pre class='wide' tabindex='0'>{html.escape(repr(self.against))}</pre>"]
        return "\n".join(parts)

    def page(self, file: str | os.PathLike[str]) -> None:
        """Writes the report as one HTML page, the verdict first, under a temporary name that is then renamed."""
        write_page(file, f"{self.recipe} on {self.backend}", self._repr_html_())

    def __repr__(self):
        lines = [f"{self.recipe} on {self.backend}: {int(self.products)} products ({self.path})",
                 f"{'module':<32} {'forward':>8} {'dgrad':>8} {'wgrad':>8} {'overflows':>10} {'underflows':>11}"]
        for name, each in self.modules.items():
            passes = [each["products"].get(p, 0) for p in ("forward", "input gradient", "weight gradient")]
            lines.append(f"{name or '(no module)':<32} {passes[0]:>8} {passes[1]:>8} {passes[2]:>8} "
                         f"{each['overflows']:>10} {each['underflows']:>11}")
        first = self.first_not_finite
        if first:
            lines.append(f"first value that is not finite: {first['value']} at {first['element']} of {first['operation']}, "
                         f"module {first['module'] or '(none)'}, {first['pass']}, step {first['step']}, "
                         f"{first['line'] or 'no line'}")
            lines.append(f"remedy: {first['remedy']}")
        for name, each in self.modules.items():
            if each["absorbed"]:
                lines.append(f"absorbed: {each['absorbed']} updates in place changed nothing, module {name or '(none)'}")
            if each["saturated"]:
                lines.append(f"saturated: {each['saturated']} numbers of products' operands, module {name or '(none)'}")
        for name, each in self.lost_updates.items():
            lines.append(f"lost updates: {name}: {each['unmoved']} weights with a gradient did not move, in {each['steps']} "
                         f"steps of {each['elements']} weights")
        for what, counts in (("not emulated", self.not_emulated), ("left in fp32", self.left_in_fp32)):
            lines += [f"{what}: {name} ({count})" for name, count in counts.items()]
        if self.against is not None:
            lines.append(repr(self.against))
        return "\n".join(lines)


def plain(x):
    """What JSON holds: objects as their fields, infinities and NaN as texts."""
    if isinstance(x, dict):
        return {str(key): plain(each) for key, each in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(each) for each in x]
    if hasattr(x, "__dict__"):
        return plain(vars(x))
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x
