"""What a user's own step needs to be right in low precision: trials of it, and the search among them."""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import random
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import numpy
import torch
from torch.utils._pytree import tree_leaves

from ._backends import backend_of, with_ieee
from ._functions import run_backward
from ._ops import split_names
from ._products import units
from ._products import UnitLike
from ._shadow import Answer, place_of, relative_error

#: Recipes in the order of what they cost: bits of products, then of what is kept.
RECIPES = ("nvfp4", "mxfp8", "te_current", "fp8", "fp16", "pure_bf16", "bf16_sr", "bf16", "mixed_fp16", "tf32", "fp32")
#: What the keys of the units of block-scaled recipes have in common.
BLOCK_SCALED = {"nvfp4": "nvf4", "mxfp8": "mxf8"}

forced_scale = None  # in a trial: the scale that GradScaler takes in place of its own
scaler_used = False


def _numbers(result):
    """The numbers and tensors of numbers that a step returns."""
    return [x.detach() if isinstance(x, torch.Tensor) else x for x in tree_leaves(result)
            if isinstance(x, float) or isinstance(x, torch.Tensor) and x.is_floating_point()]


def _finite(x):
    return bool(torch.isfinite(x).all())


def _sound(x):
    """Whether there is no NaN, and a finite number: scores may be -inf by intent."""
    x = torch.as_tensor(x)
    return not bool(torch.isnan(x).any()) and (x.numel() == 0 or bool(torch.isfinite(x).any()))


def _leaves(roots):
    """The tensors whose gradients a backward pass from the roots makes, in a fixed order."""
    found, seen, stack = [], set(), [x.grad_fn for x in roots if x.grad_fn is not None]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        stack += [each for each, _ in node.next_functions if each is not None]
    return found


class State:
    """The numbers of models and optimizers and the generators of random numbers, as they were."""

    def __init__(self, model=None, optimizer=None, scaler=None):
        models = () if model is None else model if isinstance(model, (list, tuple)) else (model,)
        self._tensors = [(x, x.detach().clone()) for each in models for x in [*each.parameters(), *each.buffers()]]
        self._optimizer, self._scaler = optimizer, scaler
        if optimizer is not None:
            self._moments = {p: copy.deepcopy(dict(kept)) for p, kept in optimizer.state.items()}
            self._groups = [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
            known = {id(x) for x, _ in self._tensors}
            self._tensors += [(p, p.detach().clone()) for group in optimizer.param_groups for p in group["params"]
                              if id(p) not in known]
        self._scale = None if scaler is None else copy.deepcopy(scaler.state_dict())
        self._random = torch.get_rng_state(), numpy.random.get_state(), random.getstate()

    def adopt(self, leaves):
        """Keeps the numbers of tensors that have gradients and that nobody has named."""
        known = {id(x) for x, _ in self._tensors}
        self._tensors += [(x, x.detach().clone()) for x in leaves if id(x) not in known]

    def restore(self):
        with torch.no_grad():
            for tensor, numbers in self._tensors:
                tensor.copy_(numbers)
                tensor.grad = None
        if self._optimizer is not None:
            self._optimizer.state.clear()
            for p, kept in self._moments.items():
                self._optimizer.state[p] = copy.deepcopy(kept)
            for group, kept in zip(self._optimizer.param_groups, self._groups):
                group.update(copy.deepcopy(kept))
        if self._scaler is not None:
            self._scaler.load_state_dict(copy.deepcopy(self._scale))
        torch.set_rng_state(self._random[0])
        numpy.random.set_state(self._random[1])
        random.setstate(self._random[2])


@dataclass(repr=False, eq=False)
class Trial:
    """One run of the step.

    recipe, fp32, scale       how: scale is None where the step's own was left
    finite, error             of the result and its weights; relative to fp32's result
    gradient_error, lost      of the gradient that is furthest from fp32's; share of gradients that are 0 here alone
    reason                    why it does not suffice, "" where it does
    first                     the first value that is not finite
    """

    recipe: str | None
    fp32: tuple[str, ...]
    scale: float | None
    finite: bool = True
    error: float = 0.0
    gradient_error: float = 0.0
    lost: float = 0.0
    reason: str = ""
    first: dict[str, Any] | None = None
    against: Any = None
    failed: str | None = None  # the sentence of the exception that the step ended with
    in_backward: bool = False  # whether gradients alone are wrong
    bad_gradient: bool = False
    weights_finite: bool = True
    finite_in_fp32: bool = True
    results: Any = ()  # of results and gradients: here and in fp32
    gradients: Any = ()
    leaves: Any = ()

    def row(self):
        scale = "own" if self.scale is None else power_text(self.scale)
        return (f"{self.recipe or 'own types':<16} {scale:>6} {self.error:>9.2g} {self.gradient_error:>9.2g}  "
                f"{self.reason[:80] or 'suffices'}{f', fp32: ' + ', '.join(self.fp32) if self.fp32 else ''}")


class Trials:
    """Runs a step in one way after another, always from the same state, and compares with what fp32 gives."""

    def __init__(self, step, unit, *, model, optimizer, scaler, bound, limit, progress, options):
        takes = any(p.name == "run" or p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
                    for p in inspect.signature(step).parameters.values())
        self._step = step if takes else lambda run: step()
        from .torch import emulate  # which imports this module

        self.unit = backend_of(unit)
        emulate(self.unit)  # or its ValueError: there is no such unit
        kept = getattr(step, "state", {"model": model, "optimizer": optimizer})  # a replayed step knows its own
        self.state = State(**kept, scaler=scaler)
        self.bound, self.limit, self.progress, self.options = bound, limit, progress, options
        self.done = {}
        self.has_backward = False
        self.architecture = ""  # of the rows that have computed products

    def __call__(self, recipe, fp32=(), scale=None, changes=None):
        key = (recipe, tuple(sorted(fp32)), scale, changes and str(changes))
        if key in self.done:
            return self.done[key]
        if len(self.done) >= self.limit:
            raise TooManyTrials
        trial = self.done[key] = Trial(recipe, tuple(fp32), scale)
        self._run(trial, changes)
        self._judge(trial)
        if trial.failed and (trial.against is None or "no module that has run matches" in trial.failed):
            del self.done[key]  # a recipe or a name that emulate refuses
        elif self.progress:
            print(f"trial {len(self.done):>3}: {trial.row()}", file=sys.stderr, flush=True)
        return trial

    def _run(self, trial, changes):
        global forced_scale, scaler_used
        from .torch import emulate  # which imports this module

        self.state.restore()
        try:
            unit = with_ieee(self.unit) if trial.recipe == "fp32" else self.unit
            run = emulate(unit, trial.recipe, fp32=trial.fp32, against="fp32", bound=self.bound,
                          **{"strict": False, **self.options})
        except (ValueError, NotImplementedError) as error:
            trial.failed = str(error)
            return
        backward, scaled = torch.autograd.backward, torch.amp.GradScaler.scale

        def scale_of_torch(scaler, loss):
            global scaler_used
            scaler_used = scaler_used or scaler.is_enabled()
            if trial.scale is not None and scaler.is_enabled():
                scaled(scaler, torch.zeros(()))
                scaler.update(trial.scale)
            return scaled(scaler, loss)

        forced_scale, scaler_used = trial.scale, False
        torch.autograd.backward = lambda *args, **kwargs: self._backward(trial, run, *args, **kwargs)
        torch.amp.GradScaler.scale = scale_of_torch
        try:
            with run, changes or contextlib.nullcontext():
                result = self._step(run)
            trial.results = [(x, run.shadow.of(x)) for x in _numbers(result)]
            trial.weights_finite = all(map(_finite, trial.leaves))
            trial.finite_in_fp32 = all(_sound(x) for _, x in trial.results) and all(_finite(x) for _, x in trial.gradients)
        except (RuntimeError, ValueError, NotImplementedError, ArithmeticError) as error:
            trial.failed = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        finally:
            torch.autograd.backward, torch.amp.GradScaler.scale = backward, scaled
            forced_scale = None
            trial.against = run.report().against
            rows = (way.split(":")[0] for way in run.ways() if ":" in way)
            self.architecture = next(filter(str.isidentifier, rows), self.architecture)
            self.state.restore()
        trial.first = trial.against.first_not_finite

    def _backward(self, trial, run, tensors, grad_tensors=None, *args, **kwargs):
        """A backward pass with the trial's loss scale, unscaled at its end, as by a scaler."""
        roots = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        leaves = _leaves(roots)
        if not trial.leaves and any(x.grad is not None and bool((x.grad != 0).any()) for x in leaves):
            raise ValueError("the step adds to gradients of an earlier one: begin it with zero_grad(), or give model=")
        if not self.has_backward:
            self.state.adopt(leaves)
        scale = 1.0 if trial.scale is None or scaler_used else trial.scale
        if scale != 1:
            given = [grad_tensors] if isinstance(grad_tensors, torch.Tensor) else grad_tensors or [None] * len(roots)
            with torch.no_grad():
                grad_tensors = [(torch.ones_like(x) if g is None else g) * scale for x, g in zip(roots, given)]
        before = [x for x in leaves if x.grad is not None] if scale != 1 else []
        for each in before:
            run.shadow.multiply(each.grad, scale)
        run_backward(run, None, roots, grad_tensors, *args, **kwargs)
        with run.shadow.quiet():
            made = [x for x in leaves if x.grad is not None]
            trial.bad_gradient |= not all(_finite(x.grad) for x in made)
            if not trial.gradients:
                trial.gradients = [(x.grad.double(), run.shadow.of(x.grad).double()) for x in made]
            trial.leaves = made
        self.has_backward = True
        for each in made if scale != 1 else ():
            run.shadow.multiply(each.grad, 1 / scale)

    def _judge(self, trial):
        if trial.failed:
            trial.finite, trial.reason = False, trial.failed
            return
        trial.error = max((relative_error(torch.as_tensor(low), torch.as_tensor(wide)) for low, wide in trial.results),
                          default=0.0)
        trial.finite = trial.error < math.inf and all(_sound(x) for x, _ in trial.results)
        sizes = [float(wide.square().mean().sqrt()) for _, wide in trial.gradients]
        floor = 1e-5 * max((x for x in sizes if math.isfinite(x)), default=0.0)
        pairs = [pair for pair, size in zip(trial.gradients, sizes) if size > floor]  # less is rounding of a zero
        trial.gradient_error = max((relative_error(*pair) for pair in pairs), default=0.0)
        of = sum(int((wide != 0).sum()) for _, wide in pairs)
        trial.lost = sum(int(((low == 0) & (wide != 0)).sum()) for low, wide in pairs) / of if of else 0.0
        if not trial.finite:
            trial.reason = "the result is not finite"
        elif trial.error > self.bound:
            trial.reason = "the result is out of bound"
        elif trial.bad_gradient:
            trial.reason, trial.in_backward = "a gradient is not finite", True
        elif trial.gradient_error > self.bound:
            trial.in_backward = True
            trial.reason = "gradients are out of bound" + (f" ({trial.lost:.0%} became 0)" if trial.lost > 0.01 else "")
        elif not trial.weights_finite:
            trial.reason = "a weight is not finite after its update"

    def scales(self, recipe, fp32=(), changes=None):
        """(lowest, highest) power of two as loss scale with which the step is right, or None."""
        works = {}

        def right(power):
            if power not in works:
                works[power] = not self(recipe, fp32, 2.0**power, changes).reason
            return works[power]

        for power in (8, 12, 16, 4, 0, 20, 24):
            right(power)
        for power in () if any(works.values()) else (-4, -8, -12):
            right(power)
        good = sorted(power for power, fine in works.items() if fine)
        if not good:
            return None
        ends = []
        for end, step in ((good[0], -4), (good[-1], 4)):
            inside, outside = end, end + step
            while abs(outside - inside) > 1 and outside in works:
                middle = (inside + outside) // 2
                inside, outside = (middle, outside) if right(middle) else (inside, middle)
            ends.append(inside)
        return 2.0**ends[0], 2.0**ends[1]


class TooManyTrials(Exception):
    """The limit of trials is reached."""


def minimise(items, suffices):
    """Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): a part of a list
    that suffices and of which no element can be left out. suffices(items) is true."""
    parts = 2
    while len(items) >= 2:
        size = math.ceil(len(items) / parts)
        chunks = [items[i:i + size] for i in range(0, len(items), size)]
        others = [[x for x in items if x not in chunk] for chunk in chunks]
        smaller = next((x for x in (chunks if parts == 2 else chunks + others) if suffices(x)), None)
        if smaller is not None:
            parts = 2 if smaller in chunks else max(parts - 1, 2)
            items = smaller
        elif parts >= len(items):
            break
        else:
            parts = min(2 * parts, len(items))
    if len(items) == 1 and suffices([]):
        return []
    return items


@dataclass(repr=False, eq=False)
class Search(Answer):
    """What a step needs.

    fp32        the shortest list of modules and operations that must be in fp32; None where none suffices
    scales      the lowest and the highest power of two that works as loss scale; None: no backward pass, or none works
    recipe      the cheapest of the recipes that suffices, None
    verdict     a sentence
    trials      what was tried, in order
    """

    fp32: list[str] | None = None
    scales: tuple[float, float] | None = None
    recipe: str | None = None
    verdict: str = ""
    trials: list[Trial] = field(default_factory=list)
    complete: bool = True

    def __repr__(self):
        lines = [f"{'recipe':<16} {'scale':>6} {'error':>9} {'gradient':>9}"] + [each.row() for each in self.trials]
        lines.append(f"fp32     {'no list suffices' if self.fp32 is None else ', '.join(self.fp32) or 'nothing'}")
        if self.scales:
            lines.append(f"scales   {power_text(self.scales[0])} to {power_text(self.scales[1])}")
        lines += [f"recipe   {self.recipe}"] if self.recipe else []
        return "\n".join([*lines, self.verdict])


def _next_place(trial):
    """Where a trial went wrong first: modules and operations that could be in fp32, the likelier first."""
    place = trial.first or trial.against.first_error
    names = [place["module"], place["operation"]] if place else []
    worse = sorted(trial.against.operations, key=lambda each: each["before"] - each["error"])[:3]
    names += [name for each in worse if each["error"] > each["before"] for name in (each["module"], each["operation"])]
    return [name for name in dict.fromkeys(names) if name]


def _everything(trial):
    """All modules and operations that could be in fp32."""
    rows = trial.against.operations
    return [name for name in dict.fromkeys([each["module"] for each in rows] +
                                           split_names([each["operation"] for each in rows])[0]) if name]


def needed(trials, recipe, scale, given=(), fine=lambda trial: not trial.reason):
    """A list for fp32 that suffices, and the scale that it needs; None where there is none. Adds what goes wrong first, again
    and again (or else everything), then leaves out what was not needed."""
    chosen, refused, found = list(given), set(), None
    trial = trials(recipe, chosen, scale)
    while not fine(trial):
        found = trials.scales(recipe, chosen) if trial.in_backward and chosen else None
        if found:
            scale = found[0]
            break
        for name in _next_place(trial):
            if name in chosen or name in refused:
                continue
            tried = trials(recipe, chosen + [name], scale)
            if tried.failed:
                refused.add(name)
                continue
            chosen, trial = chosen + [name], tried
            break
        else:
            chosen = _everything(trial)
            if not fine(trials(recipe, chosen, scale)):
                return None, None
            break
    return minimise(chosen, lambda some: fine(trials(recipe, some, scale))), found and scale


def power_text(scale):
    return f"2^{round(math.log2(scale))}"


def search(step: Callable[..., Any], unit: UnitLike = "h100", recipe: str | None = None, *, model: Any = None,
           optimizer: torch.optim.Optimizer | None = None, scaler: Any = None, bound: float = 0.1,
           recipes: Sequence[str] = RECIPES, trials: int = 100, progress: bool = True, **options: Any) -> Search:
    """The shortest list of modules and operations that a step needs in fp32, the loss scales that work, and the cheapest
    recipe that suffices.

    step       step(run) or step(): one or more training steps, or inference; returns a loss, a score or tensors. Backward
               passes by backward() get the trial's loss scale, and gradients are unscaled after them; a GradScaler of this
               module that the step uses takes the trial's scale
    recipe     of emulate; None: the tensors' own types decide
    model, optimizer, scaler   whose state is restored before each trial, as are random numbers and the tensors that have
               gradients; without an optimizer step builds its own anew. model may be a list
    bound      of the relative error of results and gradients against the same step in fp32
    recipes    to be tried, in the order of their cost
    trials     at most; progress: a line for each on stderr
    options    of emulate: order, seed, strict

    Returns a Search, which prints as a table.
    """
    runs = Trials(step, unit, model=model, optimizer=optimizer, scaler=scaler, bound=bound, limit=trials,
                  progress=progress, options=options)
    found = Search()
    try:
        _search(runs, found, recipe, recipes if recipe is not None else ())
    except TooManyTrials:
        found.complete = False
        found.verdict = f"the limit of {trials} trials was reached; give trials="
    found.trials = list(runs.done.values())
    for each in found.trials:
        del each.results, each.gradients, each.leaves, each.against
    return found


def _search(runs, found, recipe, recipes):
    first = runs(recipe, (), None)
    if first.failed and "without overflow" not in first.failed:
        found.verdict = f"the step does not run: {first.failed}"
        return
    if not first.finite_in_fp32:
        place = first.against.first_not_finite_in_fp32
        found.verdict = f"not finite in fp32, too ({place_of(place) if place else 'the result'}): not a matter of precision"
        return
    narrow = runs.has_backward and any(each["unit"] == torch.finfo(torch.float16).eps for each in first.against.operations)
    if not first.reason:
        found.fp32 = []
    elif first.in_backward:
        found.scales = runs.scales(recipe) if narrow else None
        found.fp32 = [] if found.scales else None
    if found.fp32 is None:
        found.fp32, _ = needed(runs, recipe, 2.0**8 if narrow else None)
    if found.fp32 is not None and narrow and not found.scales:
        found.scales = runs.scales(recipe, found.fp32)
    place = "" if first.first is None else f"; the first value not finite: {place_of(first.first)}"
    found.verdict = ("no list of modules and operations in fp32 suffices" if found.fp32 is None else
                     "this recipe suffices as it is" if not first.reason else
                     f"it suffices with {'fp32 for ' + ', '.join(found.fp32) if found.fp32 else 'a loss scale'}") + place
    rows = [unit.key for unit in units(runs.architecture)]
    for name in recipes:
        if name in BLOCK_SCALED and rows and not any(BLOCK_SCALED[name] in key for key in rows):
            continue  # products of dequantised numbers cost as much as theirs
        tried = [runs(name, (), each) for each in ((None, 2.0**8, 2.0**16) if narrow and "fp16" in name else (None,))]
        if any(not each.reason for each in tried):
            found.recipe = name
            break
