"""Why a user's own step goes wrong in low precision, and a remedy that was tried on it."""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ._ops import plain_name
from ._products import UnitLike
from ._search import TooManyTrials, Trials, needed, power_text
from ._private import hide_from_compiler
from ._run import user_line
from ._shadow import Against, Answer, place_of

TINY_EPS = 2.0**-13
QUOTIENTS = ("div", "reciprocal", "rsqrt", "addcdiv", "log", "pow", "_foreach_div", "_foreach_addcdiv")
SUMS = ("sum", "mean", "cumsum", "prod", "full", "scalar_tensor", "_to_copy", "logsumexp", "var", "std")
MASTERS = {"pure_bf16": "bf16", "bf16_weights": "bf16", "fp16": "mixed_fp16", "fp16_weights": "mixed_fp16"}


class Changes(TorchDispatchMode):
    """A change of the user's code, tried: arguments of operations replaced before they are computed."""

    def __init__(self, text, change):
        super().__init__()
        self._text, self._change = text, change
        self.lines = {}
        hide_from_compiler(Changes)

    def __str__(self):
        return self._text

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = plain_name(func)
        changed = self._change(name, args)
        if changed is not None:
            self.lines[f"{name} at {user_line()}"] = True
            args = changed
        return func(*args, **(kwargs or {}))


def constant_change(text, old, new):
    """Where an argument is the number ``old``, it is ``new``."""
    def number(x):
        return x.item() if isinstance(x, torch.Tensor) and x.dim() == 0 and x.dtype is torch.float64 else x

    def change(name, args):
        places = [i for i, x in enumerate(args) if isinstance(number(x), float) and number(x) == old]
        return tuple(new if i in places and not isinstance(x, torch.Tensor) else x * (new / old) if i in places else x
                     for i, x in enumerate(args)) if places else None
    return Changes(text, change)


def zero_change(text, eps):
    """sqrt, log and quotients see ``eps`` in place of 0."""
    def change(name, args):
        which = 1 if name == "div" else 0
        if name not in ("sqrt", "rsqrt", "log", "reciprocal", "div") or not isinstance(args[which], torch.Tensor):
            return None
        x = args[which]
        if not x.is_floating_point() or not bool((x == 0).any()):
            return None
        return tuple(torch.where(x == 0, torch.full_like(x, eps), x) if i == which else each for i, each in enumerate(args))
    return Changes(text, change)


class Diagnosis(Answer):
    """kind      "overflow forward", "overflow backward", "underflow of gradients", "overflow in the optimizer", "overflow in
              the norm of gradients", "overflow of a sum", "eps", "constant", "not finite in fp32", "updates lost",
              "average stands still", "became zero", "positions merged", "swamped sum", "saturation", "error", "none"
    cause     a sentence
    evidence  sentences with numbers
    remedy    what to do; works: whether the step is right with it (None: it was not tried)
    tried     (remedy, whether it worked) of all that were tried
    against   what the fp32 run beside shows
    """

    kind: str
    cause: str
    evidence: list[str]
    remedy: str
    works: bool | None
    tried: list[tuple[str, bool]]
    against: Against

    def __init__(self, against):
        self.kind, self.cause, self.evidence = "none", "the step is finite and within the bound of fp32", []
        self.remedy, self.works, self.tried, self.against = "nothing is needed", None, [], against

    def __repr__(self):
        verdict = {True: "tried: works", False: "tried: does not suffice", None: "not tried"}
        lines = [f"cause     {self.cause}"] + [f"evidence  {each}" for each in self.evidence]
        lines += [f"tried     {text}: {'works' if works else 'does not suffice'}" for text, works in self.tried
                  if text != self.remedy]
        return "\n".join([*lines, f"remedy    {self.remedy}" + (f" ({verdict[self.works]})" if self.kind != "none" else "")])


class _Cause(NamedTuple):
    """A kind with its remedies: (text, function that returns whether it works, perhaps as a better text)."""

    kind: str
    cause: str
    evidence: list
    remedies: list


def diagnose(step: Callable[..., Any], unit: UnitLike = "h100", recipe: str | None = None, *, model: Any = None,
             optimizer: torch.optim.Optimizer | None = None, scaler: Any = None, bound: float = 0.1, trials: int = 60,
             progress: bool = False, fp32: Sequence[str] = (), **options: Any) -> Diagnosis:
    """Why a step is not finite or far from fp32: cause, evidence, and a remedy that was tried.

    All arguments are those of :func:`search`; fp32 is a list that the user has already. Returns a Diagnosis, which prints.
    """
    runs = Trials(step, unit, model=model, optimizer=optimizer, scaler=scaler, bound=bound, limit=trials,
                  progress=progress, options=options)
    first = runs(recipe, fp32, None)
    found = Diagnosis(first.against)
    if first.failed and "without overflow" not in first.failed:
        found.kind, found.cause, found.remedy = "error", f"the step does not run: {first.failed}", "see the message"
        return found
    cause = _Finder(runs, first, recipe, tuple(fp32)).cause()
    if cause is None:
        if first.first:
            found.evidence = [f"{place_of(first.first)} is not finite, without consequence"]
        return found
    found.kind, found.cause, found.evidence = cause.kind, cause.cause, cause.evidence
    found.remedy, found.works = "none was found", False
    try:
        for text, attempt in filter(None, cause.remedies):
            works = attempt() if attempt is not None else None
            if works is None or works:
                found.remedy, found.works = works if isinstance(works, str) else text, None if works is None else True
                break
            found.tried.append((text, False))
    except TooManyTrials:
        found.evidence.append(f"the limit of {trials} trials was reached; give trials=")
    return found


def _sound(trial):
    return not trial.failed and trial.finite and not trial.bad_gradient


class _Finder:
    def __init__(self, runs, first, recipe, fp32):
        self.runs, self.trial, self.recipe, self.fp32 = runs, first, recipe, fp32
        self.against, self.place = first.against, first.first

    # ---- remedies ----

    def with_changes(self, changes, fine=lambda trial: not trial.reason):
        def attempt():
            if not fine(self.runs(self.recipe, self.fp32, None, changes)):
                return False
            return f"{changes} ({', '.join(changes.lines)})"
        return str(changes), attempt

    def in_fp32(self, fine=lambda trial: not trial.reason):
        """The shortest list found by search; modules and operations."""
        def attempt():
            chosen, scale = needed(self.runs, self.recipe, None, list(self.fp32), fine)
            if chosen is None:
                return False
            return f"fp32={chosen}" + (f" and a loss scale of {power_text(scale)}" if scale else "")
        return "modules and operations in fp32", attempt

    def in_recipe(self, name, text, fine=lambda trial: not trial.reason):
        """None where the tensors' own types decide."""
        return self.recipe and (f"recipe='{name}': {text}", lambda: fine(self.runs(name, self.fp32, None)))

    def with_scale(self):
        def attempt():
            found = self.runs.scales(self.recipe, self.fp32)
            return bool(found) and f"a loss scale from {power_text(found[0])} to {power_text(found[1])}"
        return "a loss scale", attempt

    # ---- causes ----

    def cause(self):
        if not self.trial.finite_in_fp32:
            return self.in_fp32_too()
        place, late = self.place, self.place is not None and self.place["pass"] in ("optimizer", "update")
        if place is not None and (self.trial.reason or late):
            return self.of_constant() or self.of_place(place)
        if self.trial.in_backward:
            return self.underflow()
        return self.silent()

    def evidence(self, place):
        lines = [f"first value that is not finite: {place['value']}" +
                 (f" at {place['element']}, in fp32 {place['fp32']:.6g}; the format's largest is {place['largest']:g}"
                  if "fp32" in place else ""), f"at {place_of(place)}"]
        if place.get("operands"):
            lines.append(f"operands: {', '.join(place['operands'])}")
        return lines

    def in_fp32_too(self):
        place = self.against.first_not_finite_in_fp32
        lines = [] if place is None else [f"first in fp32: {place_of(place)}, operands {', '.join(place['operands'])}"]
        eps = zero_change("an eps of 2^-20 where 0 goes into sqrt, log or a divisor", 2.0**-20)
        return _Cause("not finite in fp32", "the fp32 run is not finite either: not a matter of precision or of the loss "
                      "scale", lines, [self.with_changes(eps, lambda trial: _sound(trial) and trial.finite_in_fp32),
                                       ("correct the model at this place", None)])

    def of_constant(self):
        rows = [each for each in self.against.operations if each["constant"] is not None]
        reached = abs(self.place.get("fp32", math.inf))
        big = next((x for x in rows if abs(x["constant"]) > 1 and 2 * reached >= abs(x["constant"])), None)
        small = next((x for x in rows if abs(x["constant"]) < 1), None)
        if big is not None:
            new = math.copysign(self.place.get("largest", 65504.0) / 2, big["constant"])
            return _Cause("constant", f"the constant {big['constant']:g} is beyond the format's largest number",
                          self.evidence(self.place), [self.with_changes(constant_change(
                              f"{new:g} (or half of torch.finfo(dtype).min) in place of {big['constant']:g}",
                              big["constant"], new), _sound), self.in_fp32()])
        if small is not None and self.place["operation"] in QUOTIENTS:
            return _Cause("eps", f"the eps {small['constant']:g} is 0 in this format ({place_of(small)}), and the divisor 0",
                          self.evidence(self.place), [self.with_changes(constant_change(
                              f"an eps of {TINY_EPS:g} in place of {small['constant']:g}", small["constant"], TINY_EPS)),
                              self.in_fp32(), self.in_recipe("mixed_fp16", "fp32 masters and moments")])
        return None

    def of_place(self, place):
        lines = self.evidence(place)
        if place["pass"] == "backward":
            return _Cause("overflow backward", "a gradient overflows on its way back", lines,
                          [self.with_scale(), self.in_fp32(), self.in_recipe("bf16", "the range of fp32")])
        if place["pass"] in ("optimizer", "update"):
            kind, text = ("overflow in the optimizer", "the optimizer overflows") if place["pass"] == "optimizer" else (
                "overflow in the norm of gradients", "the norm of gradients, or what is made of them by hand, overflows")
            late = ("optimizer", "update")
            fine = lambda trial: not trial.reason and (trial.first or {}).get("pass") not in late  # noqa: E731
            return _Cause(kind, text, lines, [self.in_fp32(fine), *(self.in_recipe(name, what, fine) for name, what in (
                ("mixed_fp16", "fp32 masters and moments"), ("bf16", "the range of fp32")))])
        if place["operation"] in SUMS:
            kind, text = "overflow of a sum", "a sum, a count or a divisor of a mean leaves the format"
        else:
            kind, text = "overflow forward", "an activation leaves the format's range; no loss scale helps"
        return _Cause(kind, text, lines, [self.in_fp32(), self.in_recipe("bf16", "the range of fp32")])

    def underflow(self):
        trial = self.trial
        lines = [f"{trial.lost:.1%} of the numbers of gradients are 0 here and not in fp32; the largest relative error of a "
                 f"parameter's gradient is {trial.gradient_error:.2g}"]
        rows = [each for each in self.against.operations if each["pass"] == "backward"]
        small = sum(each["subnormal"] for each in rows) / max(1, sum(each["results"] for each in rows))
        lines.append(f"{small:.1%} of what the backward pass computes is below the format's normal numbers")
        if trial.lost > 0.01 or small > 0.1:
            return _Cause("underflow of gradients", "gradients are too small for the format", lines,
                          [self.with_scale(), self.in_recipe("bf16", "the range of fp32")])
        return _Cause("error", "gradients are far from fp32's", lines, [self.in_fp32(), self.with_scale()])

    def silent(self):
        found = self.against.findings()
        if not found or (not self.trial.reason and found[0][0] == "error"):
            return None
        kind, place, sentence = found[0]
        gone = lambda trial: not trial.reason and not any(  # noqa: E731
            each[0] == kind and each[1]["operation"] == place["operation"] for each in trial.against.findings())
        others = [text for _, _, text in found[1:4]]
        beside = lambda text: (f"{text} in fp32, as in the run beside", lambda: True)  # noqa: E731
        if kind in ("updates lost", "average stands still"):
            master = MASTERS.get(self.recipe)
            remedies = [self.in_recipe(master, "fp32 masters", gone)] if master and kind == "updates lost" else []
            remedies.append(beside("masters or averages"))
            text = "updates are less than half a unit in the last place of what they change"
            return _Cause(kind, text, [sentence, *others], remedies)
        causes = {"became zero": "a norm, mean or quotient became 0", "positions merged": "positions are no longer distinct",
                  "swamped sum": "a running sum has outgrown its addends", "saturation": "numbers above the format's largest",
                  "error": "the result is far from fp32's"}
        last = [beside("positions as integers or")] if kind == "positions merged" else []
        return _Cause(kind, causes[kind], [sentence, *others], [self.in_fp32(gone), *last])
