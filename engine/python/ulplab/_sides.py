"""How far two arithmetics of one model differ on the same tokens. ulplab.torch.mismatch is the interface."""

import contextlib
import copy
import fnmatch
import html
import json
import math
import sys
from collections import Counter
from collections.abc import Sequence

import torch

from ._attention import checked_tiling
from ._backends import backend_of, with_ieee
from ._invariance import bits_of, computed_in, order_name, require_no_dropout, require_pieces
from ._mismatch import Mismatch, mismatch
from ._ops import listed, split_names
from ._products import _order
from ._report import plain, table, write_page
from ._run import user_line

_DEFAULTS = {"unit": "h100", "recipe": "bf16", "order": None, "fp32": (), "attention": None, "batch": None, "modules": {},
             "dtype": None}
_LOW = {torch.float16: "fp16", torch.bfloat16: "bf16"}
_PRECISION = {"fp16": 11, "bf16": 8, "fp32": 24}
_T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}  # Student's, by the number of values


def _type_of(model):
    """The type of a model's parameters: the first low one, or else fp32."""
    return next((x.dtype for x in model.parameters() if x.dtype in _LOW), torch.float32)


def _side(given, name, own=None):
    """A side with all of its fields, of a model of type `own`: one of fp16 or bf16 computes by its tensors' types where no
    recipe is given, and is cast to float32, which recipes are for, where one is. own None: what differs in a module."""
    unknown = sorted(set(given) - set(_DEFAULTS))
    if unknown:
        raise ValueError(f"{name} has no {', '.join(unknown)}; a side is a dictionary of {', '.join(_DEFAULTS)}")
    side = {**_DEFAULTS, **given}
    if side["dtype"] not in (None, torch.float32, *_LOW):
        raise ValueError(f"{name} has dtype {side['dtype']!r}; give torch.float32, float16 or bfloat16, to which the model is cast")
    if "recipe" not in given and (side["dtype"] or own) in _LOW:
        side["recipe"] = None
    if own in _LOW and side["recipe"] and side["dtype"] is None:
        side["dtype"] = torch.float32
    if own and side["recipe"] and side["dtype"] in _LOW:
        raise ValueError(f"{name} has recipe {side['recipe']} and dtype {side['dtype']}; a recipe carries its formats in float32 "
                         "tensors: leave one of them out")
    if side["batch"] is not None and not (isinstance(side["batch"], int) and side["batch"] >= 1):
        raise ValueError(f"{name} has batch {side['batch']!r}; give rows that are computed together, 1 or more")
    side["fp32"] = listed(side["fp32"])
    return {**side, "attention": checked_tiling(side["attention"])}


def _emulation(emulate, side, seed=0, inner=False):
    backend = backend_of(side["unit"])
    if side["recipe"] in ("fp32", "tf32"):
        backend = with_ieee(backend)
    wide = side["recipe"] == "fp32"  # IEEE sums have their written order
    run = emulate(backend, side["recipe"], order=None if wide else side["order"], fp32=side["fp32"], strict=False,
                  attention=None if wide else side["attention"], seed=seed)
    run.attention_used = inner  # of a module, which need not be attention
    return run


def _rms(x):
    return float(x.double().pow(2).mean().sqrt())


class _Model:
    """The model's log-probabilities of tokens, by a side."""

    def __init__(self, emulate, model, tokens):
        self.emulate, self.model, self.tokens, self.type = emulate, model, tokens, _type_of(model)
        self.paths = {path: each for path, each in model.named_modules() if path}
        self.leaves = [path for path, each in self.paths.items() if not list(each.children())]
        self._known, self._cast = {}, {}

    def of_type(self, dtype):
        """The same of a copy whose parameters are of another type."""
        if dtype in (None, self.type):
            return self
        if dtype not in self._cast:
            self._cast[dtype] = _Model(self.emulate, copy.deepcopy(self.model).to(dtype), self.tokens)
        return self._cast[dtype]

    def paths_of(self, pattern):
        found = [path for path in self.paths if path == pattern or path.endswith("." + pattern)]
        if not found:
            raise ValueError(f"no module's path is or ends in {pattern!r}; there are {', '.join(list(self.paths)[:8])}, ...")
        return found

    def paths_named(self, *words):
        """Of modules whose class has one of these words in its name."""
        return [path for path, each in self.paths.items() if any(word in type(each).__name__.lower() for word in words)]

    def _exchanges(self, side):
        """From a module's path to the side that computes it; patterns of fp32 are resolved, as they are of the whole model."""
        found = {}
        for pattern, changes in side["modules"].items():
            other = _side({**side, "modules": {}, **changes}, f"modules[{pattern!r}]")
            if "dtype" in changes:
                raise ValueError(f"modules[{pattern!r}] has a dtype; a module's tensors have the model's: give a recipe, or fp32=")
            operations, in_fp32 = split_names(other["fp32"])
            for path in self.paths_of(pattern):
                around = [".".join(path.split(".")[:i + 1]) for i in range(path.count(".") + 1)]
                wide = any(fnmatch.filter(around, each) for each in in_fp32)
                found[path] = {**other, "fp32": tuple(operations)}
                if wide or other["recipe"] == "fp32":
                    found[path] |= {"recipe": "fp32"} if side["recipe"] else {"recipe": None, "fp32": (*operations, "*")}
        return found

    def router_of(self, path, experts):
        """Of the module that chooses experts, the part that scores them."""
        weights = ((inside, getattr(each, "weight", None)) for inside, each in self.paths.items()
                   if f"{inside}.".startswith(f"{path}."))
        return next((inside for inside, x in weights if isinstance(x, torch.Tensor) and len(x) == experts), path)

    @contextlib.contextmanager
    def hooked(self, taken):
        """While this lasts, `taken` gets (path, result) of each module without children, in order."""
        with contextlib.ExitStack() as stack:
            for path in self.leaves:
                stack.callback(self.paths[path].register_forward_hook(_keeping(taken, path)).remove)
            yield

    def tokens_of(self, seed):
        """The tokens, and for seeds above 0 the same in another order."""
        if seed == 0:
            return self.tokens
        order = torch.randperm(self.tokens.numel(), generator=torch.Generator().manual_seed(seed))
        return self.tokens.flatten()[order].reshape(self.tokens.shape)

    def logits(self, side, seed=0, observers=(), taken=None, runs=None):
        """Of all tokens. runs: a list that gets the emulations."""
        if self.of_type(side["dtype"]) is not self:
            return self.of_type(side["dtype"]).logits({**side, "dtype": None}, seed, observers, taken, runs)
        rows, runs = [], [] if runs is None else runs
        for chunk in self.tokens_of(seed).split(side["batch"] or len(self.tokens)):
            with torch.no_grad(), contextlib.ExitStack() as stack:
                runs.append(_emulation(self.emulate, side, seed))

                def of_module(path, other):
                    runs.append(_emulation(self.emulate, other, seed, inner=True))
                    runs[-1].observers += [_at(path, type(self.paths[path]).__name__, each) for each in observers]
                    return runs[-1]

                for path, other in self._exchanges(side).items():
                    stack.enter_context(computed_in(self.paths[path], lambda x, each=(path, other): of_module(*each)))
                if taken is not None:
                    stack.enter_context(self.hooked(taken))
                runs[-1].observers += observers
                stack.enter_context(runs[-1])
                rows.append(_logits_of(self._of_tokens(chunk)))
        return torch.cat(rows)

    def _of_tokens(self, tokens):
        try:
            return self.model(tokens)
        except (RuntimeError, TypeError) as error:
            if any(isinstance(each, torch.nn.Embedding) for each in self.model.modules()):
                raise
            raise ValueError(f"{type(self.model).__name__} has no Embedding and does not take tokens, which are integers; give the "
                             "whole language model, its embedding included") from error

    def log_probabilities(self, logits, seed=0):
        """Of each token but the first, given those before it: {"tokens", "logprobs", "argmax"} as arrays."""
        following = self.tokens_of(seed)[:, 1:]
        logs = torch.log_softmax(logits[:, :-1].double(), -1)
        return {"tokens": following, "logprobs": logs.gather(2, following[..., None])[..., 0],
                "argmax": logits[:, :-1].argmax(-1)}

    def known(self, side, seed=0):
        """(log-probabilities, multiplications by the format of their operands) of a side; each is computed once."""
        key = (repr(side), seed)
        if key not in self._known:
            runs = []
            logs = self.log_probabilities(self.logits(side, seed, runs=runs), seed)["logprobs"]
            self._known[key] = logs, _costs(runs, side["dtype"] or self.type)
        return self._known[key]


def _costs(runs, dtype):
    """Multiplications by the format of the products' operands (the recipe's name where it quantises them)."""
    found = Counter()
    for run in runs:
        recipe = None if run.by_types else run.recipe
        own = _LOW.get(dtype, "fp32") if recipe is None else recipe["name"] if recipe["quantised"] else recipe["input"]
        for module, counts in run.rounding.modules.items():
            if counts.multiplications:
                found["fp32" if run._fp32.get(module) else own] += counts.multiplications
    return found


def _keeping(taken, path):
    def hook(module, args, result):
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            taken.append((path, result.detach().clone()))
    return hook


def _logits_of(result):
    logits = result if isinstance(result, torch.Tensor) else getattr(result, "logits", None)
    if logits is None or logits.dim() != 3:
        raise ValueError("the model gives no logits of (sequences, places, vocabulary); give one that returns these, or an "
                         "object with .logits")
    return logits.detach().float()


def _at(path, kind, observer):
    """An observer inside of a module, whose emulation calls it by its class and has paths from there."""
    def observe(func, name, where, *rest):
        inside = where["module"]
        observer(func, name, {**where, "module": path if inside in ("", kind) else f"{path}.{inside}"}, *rest)
    return observe


class _Recorder:
    """Results in order of execution; against an earlier recorder it keeps the first that has other bits. casts: whether
    these are looked at, which models of two types have in other places."""

    def __init__(self, casts, earlier=None):
        self.casts, self.earlier, self.results, self.count, self.first = casts, earlier, [], 0, None

    def __call__(self, func, name, where, args, kwargs, result):
        if not isinstance(result, torch.Tensor) or result.dtype not in (torch.float32, *_LOW) or self.first is not None:
            return
        if name == "_to_copy" and not self.casts:
            return
        if self.earlier is None:
            self.results.append((name, result.detach().clone()))
            return
        known, other = self.earlier.results[self.count] if self.count < len(self.earlier.results) else (None, None)
        self.count += 1
        found = {"module": where["module"], "operation": name, "line": None, "element": None, "a": None, "b": None}
        if known != name or other.shape != result.shape:
            self.first = {**found, "line": user_line()}
            return
        differ = bits_of(other) != bits_of(result.detach())
        if bool(differ.any()):
            at = tuple(differ.nonzero()[0].tolist())
            self.first = {**found, "line": user_line(), "element": at, "a": float(other[at]), "b": float(result[at])}


class _Routers:
    """Scores, and the experts that are chosen, of each module that takes the largest of a row's scores."""

    def __init__(self):
        self.seen = {}

    def __call__(self, func, name, where, args, kwargs, result):
        if name == "topk" and args[0].is_floating_point() and result[1].shape[-1] < args[0].shape[-1]:
            scores, chosen = args[0].detach(), result[1]
            mask = torch.zeros(scores.shape, dtype=torch.bool).scatter(-1, chosen, True)
            self.seen.setdefault(where["module"], []).append([x.reshape(-1, scores.shape[-1]) for x in (scores.clone(), mask)])

    def flips(self, other):
        """Against the other side's: a dictionary for each router."""
        found = []
        for module, chunks in self.seen.items():
            scores, chosen = map(torch.cat, zip(*chunks))
            theirs = torch.cat([mask for _, mask in other.seen.get(module, [(None, torch.empty(0))])])
            if chosen.shape != theirs.shape:
                continue
            flipped, count = (chosen != theirs).any(-1), int(chosen[0].sum())
            ranked = scores.double().sort(-1, descending=True).values
            margins = ranked[:, count - 1] - ranked[:, count]
            found.append({"module": module, "tokens": len(chosen), "flips": int(flipped.sum()),
                          "lost": (chosen & ~theirs).sum(0).tolist(), "gained": (theirs & ~chosen).sum(0).tolist(),
                          "margin": float(margins.median()),
                          "margin_of_flips": float(margins[flipped].median()) if bool(flipped.any()) else None})
        return found


def _in_fp16(side, own):
    """The side with fp16 for bf16, in its recipe or its tensors."""
    if side["recipe"] is None and (side["dtype"] or own) is torch.bfloat16:
        return {**side, "dtype": torch.float16}
    return {**side, "recipe": {"bf16": "mixed_fp16"}.get(side["recipe"], side["recipe"])}


class Remedy(dict):
    """name, rms (of what remains), factor (by which the gap falls), low and high (of the factor, 95 %), cost (multiplications
    of both sides by the format of their operands)."""

    def __repr__(self):
        whole = sum(self["cost"].values()) or 1
        cost = ", ".join(f"{count / whole:.0%} {name}" for name, count in sorted(self["cost"].items(), key=lambda x: -x[1]))
        factor = "no gap remains" if self["rms"] == 0 else "as without" if self["low"] == self["high"] == 1 else \
            f"{self['factor']:.3g} times smaller (95 %: {self['low']:.3g} to {self['high']:.3g})"
        return f"{self['name']:<34} rms {self['rms']:.3g}, {factor}; products: {cost}"

    __str__ = __repr__


class Table(list):
    """Prints a line for each of its dictionaries."""

    def __repr__(self):
        if not self or isinstance(self[0], Remedy):
            return "\n".join(map(repr, self))
        names = list(self[0])
        rows = [names, *([f"{x:.3g}" if isinstance(x, float) else "" if x is None else str(x) for x in map(each.get, names)]
                         for each in self)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
        return "\n".join("  ".join(f"{x:<{w}}" for x, w in zip(row, widths)).rstrip() for row in rows)


class Asked(Sequence):
    """A table that is made when it is first looked at; called with options it is made with these."""

    def __init__(self, make):
        self._make, self.made = make, None

    def __call__(self, *args, **options):
        if args or options:
            return self._make(*args, **options)
        self.made = self._make() if self.made is None else self.made
        return self.made

    def __getitem__(self, index):
        return self()[index]

    def __len__(self):
        return len(self())

    def __repr__(self):
        return repr(self())


class SideMismatch(Mismatch):
    """The figures of ulplab.Mismatch for two arithmetics of one model, and where they come from.

    log_probabilities   {"a": ..., "b": ..., "fp64": ...}, tensors of (sequences, places - 1)
    distance            {"a": ..., "b": ...}: rms of the difference from fp64
    first               the first operation whose bits differ: module, operation, line (of the model's code), element, a, b;
                        None where none does, and where the batches differ
    growth_by_module    for each module without children, in order: module, differ (share of elements), relative (rms of
                        the difference to that of a), ulps (the largest difference in units in the last place of a's
                        format, of numbers of the result's rms or more), from_fp64 (as relative, of a against fp64)
    routers             flips of a router's choice: module, tokens, flips, lost and gained (tokens by expert), margin (between
                        the last score that was chosen and the next one, the median), margin_of_flips
    not_finite_first    {"a": ..., "b": ...}: the first value that was not finite, as a Report has it, or None
    by_module, remedies   lists that are made when they are looked at; by_module(modules) and remedies(head, seeds, progress)
                        make others. by_module: what each module contributes, its arithmetic alone b's, all else a's: module,
                        rms and share (of the mean square of d), relative and ulps (of growth_by_module), the largest first;
                        then "remainder", as shares need not add up. remedies: the gap that remains after each remedy, and
                        after none, the smallest first: :class:`Remedy`. Its head is the module that gives logits, by default
                        the last Linear layer; seeds the number of pairs of seeds, of the tokens' order (0: as given) and of
                        stochastic rounding, which the interval is over; progress is called with a line when a remedy begins,
                        and by default prints it on stderr where that is a terminal
    plot()              the growth as a figure; page(file): all as one HTML page, the verdict first
    """

    def __init__(self, runs, a, b, found):
        self.__dict__.update(vars(found))
        self._runs, self._a, self._b = runs, a, b
        self._asked = {"by_module": Asked(self._contributions), "remedies": Asked(self._remedies)}
        self.causes = []  # they are known here: see first, by_module and remedies

    def _gap(self, a, b, seed=0):
        return _rms(self._runs.known(b, seed)[0] - self._runs.known(a, seed)[0])

    @property
    def by_module(self):
        return self._asked["by_module"]

    @property
    def remedies(self):
        return self._asked["remedies"]

    def _contributions(self, modules=None):
        runs = self._runs
        paths = [path for each in modules for path in runs.paths_of(each)] if modules is not None else [
            path for path in runs.leaves if list(runs.paths[path].parameters())]
        if self._a["dtype"] != self._b["dtype"]:
            raise ValueError("the sides cast the model to two types, so a module of one cannot compute in the other; for shares by "
                             "module give a float32 model, and recipes in place of dtype")
        other = {name: value for name, value in self._b.items() if name not in ("modules", "batch", "dtype")}
        whole, found = self.rms**2 if self.rms else math.inf, Table()  # of equal sides no module has a share
        growth = {each["module"]: each for each in self.growth_by_module}
        for path in paths:
            rms = self._gap(self._a, {**self._a, "modules": {**self._a["modules"], path: other}})
            found.append({"module": path, "rms": rms, "share": rms**2 / whole,
                          **{name: growth.get(path, {}).get(name) for name in ("relative", "ulps")}})
        found.sort(key=lambda each: -each["rms"])
        rest = (1.0 if self.rms else 0.0) - sum(each["share"] for each in found)
        return Table([*found, {"module": "remainder", "rms": None, "share": rest, "relative": None, "ulps": None}])

    def _sides_of_remedies(self, head):
        """From a remedy's name to its two sides."""
        runs, a, b = self._runs, self._a, self._b
        linear = [path for path, each in runs.paths.items() if isinstance(each, torch.nn.Linear)]
        heads = runs.paths_of(head) if head else linear[-1:]

        def in_fp32(*names):
            return [{**side, "fp32": (*side["fp32"], *(each for each in names if each not in side["fp32"]))} for side in (a, b)]

        def as_in_a(*names):
            return [a, {**b, **{name: a[name] for name in names}}]

        tries = {"one order for all batch sizes": as_in_a("order", "batch"), "the same attention tile": as_in_a("attention"),
                 "one recipe": as_in_a("recipe", "dtype"),
                 "fp16 in place of bf16": [_in_fp16(side, runs.type) for side in (a, b)],
                 "fp32 head": in_fp32(*heads),
                 "fp32 router": in_fp32(*(runs.router_of(each["module"], len(each["lost"])) for each in self.routers if each["module"])),
                 "fp32 residual stream": in_fp32("add"),
                 "norms and RoPE in fp32": in_fp32(*runs.paths_named("norm", "rotary")), "fp32 softmax": in_fp32("softmax")}
        in_bf16 = b["recipe"] == "bf16" or b["recipe"] is None and (b["dtype"] or runs.type) is torch.bfloat16
        if a["recipe"] and a["recipe"] != b["recipe"] and in_bf16:
            # Its log-probabilities are computed once more in bf16: a pass beside the rollout's own.
            tries[f"{a['recipe']} rollout with bf16 correction"] = [{**a, "recipe": b["recipe"], "dtype": b["dtype"]}, b]
            del tries["one recipe"]
        return {"none": [a, b], **{name: sides for name, sides in tries.items() if sides != [a, b]}}

    def _remedies(self, head=None, seeds=3, progress=None):
        tell = progress or (lambda line: print(line, file=sys.stderr, flush=True) if sys.stderr.isatty() else None)
        if self.rms is None or self.equal:
            return Table()
        tries, found = self._sides_of_remedies(head), Table()
        for number, (name, sides) in enumerate(tries.items(), 1):
            tell(f"remedy {number} of {len(tries)}: {name}")
            pairs = [(self._gap(*sides, seed), self._gap(self._a, self._b, seed)) for seed in range(seeds)]
            cost = sum((self._runs.known(side)[1] for side in sides), Counter())
            if "correction" in name:
                cost += self._runs.known(self._a)[1]
            found.append(Remedy(name=name, rms=math.sqrt(sum(rms**2 for rms, _ in pairs) / seeds), **_factor(pairs),
                                cost=dict(cost)))
        return Table(sorted(found, key=lambda each: each["rms"]))

    def plot(self, ax=None):
        """The difference of each module's result over depth (matplotlib), with a's distance from fp64; returns the axes."""
        from matplotlib import pyplot

        ax = ax or pyplot.subplots(figsize=(8, 4.5))[1]
        depth = range(len(self.growth_by_module))
        for name, label in (("relative", "A against B"), ("from_fp64", "A against fp64")):
            ax.plot(depth, [each[name] or math.nan for each in self.growth_by_module], marker=".", label=label)
        ax.set_yscale("log", base=2)
        ax.set_xticks(list(depth), [each["module"] for each in self.growth_by_module], rotation=90, fontsize=6)
        ax.set_ylabel("difference relative to the result (rms)")
        ax.legend()
        return ax

    def verdict(self):
        """The gap, where it begins, and the best remedy where remedies were looked at."""
        if self.equal:
            return "All log-probabilities are equal."
        if self.rms is None:
            return "; ".join(f"{each['count']} log-probabilities of {name.upper()} are not finite"
                             for name, each in self.not_finite.items() if each) + "."
        text = f"The log-probabilities differ by {self.rms:.3g} (rms), at most by {self.max:.3g}."
        if self.first:
            text += f" The first bits that differ are in {self.first['operation']} of {self.first['module'] or 'no module'}, {self.first['line']}."
        best = (self._asked["remedies"].made or [{"name": "none"}])[0]
        return text if best["name"] == "none" else f"{text} Best remedy: {best['name']}, rms {best['rms']:.3g}."

    def page(self, file):
        """Writes one HTML page, the verdict first, with by_module and remedies where they were looked at."""
        body = (f"<p class='verdict'>{html.escape(self.verdict())}</p>"
                f"<pre class='wide' tabindex='0'>{html.escape(repr(self))}</pre>")
        tables = {"remedies": "Remedies", "by_module": "What each module contributes"}
        for title, rows in [*((title, self._asked[name].made) for name, title in tables.items()),
                            ("Growth by module", self.growth_by_module)]:
            if rows:
                names = [name for name in rows[0] if name != "cost"]
                body += f"<h2>{title}</h2>" + table(names, (
                    [f"{x:.3g}" if isinstance(x, float) else "" if x is None else x for x in map(each.get, names)]
                    for each in rows))
        write_page(file, "Two arithmetics of one model", body)

    def to_json(self):
        """The figures as JSON text, with by_module and remedies where they were looked at; log-probabilities as lists,
        infinities and NaN as texts."""
        fields = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        fields |= {name: each.made for name, each in self._asked.items() if each.made is not None}
        fields["log_probabilities"] = {name: each.tolist() for name, each in self.log_probabilities.items()}
        return json.dumps(plain(fields))

    def __repr__(self):
        special = {"order": lambda value: order_name(_order(value)), "recipe": lambda value: value or "of the tensors' types"}
        sides = [f"{name} " + (", ".join(f"{key} {special.get(key, str)(value)}"
                                         for key, value in side.items() if value != _DEFAULTS[key]) or
                               "h100, bf16, one chain") for name, side in (("A", self._a), ("B", self._b))]
        figures = self._text.split("\n", 2)[2].split("\n\nWhat would make")[0].rstrip("\n")
        lines = [*sides, figures, f"rms from fp64: A {self.distance['a']:.4g}, B {self.distance['b']:.4g}"]
        if self.first:
            f = self.first
            place = f"{f['operation']} of {f['module'] or '(no module)'}, {f['line']}"
            lines.append(f"first difference: from {place} on B runs other operations than A" if f["element"] is None else
                         f"first difference: {place}, element {f['element']}: {f['a']!r} and {f['b']!r}")
        for name, first in self.not_finite_first.items():
            if first:
                lines.append(f"first value of {name.upper()} that is not finite: {first['value']} at {first['element']} of "
                             f"{first['operation']}, module {first['module'] or '(none)'}, {first['line'] or 'no line'}; "
                             f"remedy: {first['remedy']}")
        lines += [f"router {each['module']}: {each['flips']} of {each['tokens']} tokens go to other experts; margin "
                  f"{each['margin']:.3g}" + (f", of these {each['margin_of_flips']:.3g}" if each["flips"] else "")
                  for each in self.routers]
        return "\n".join(lines)


def _factor(pairs):
    """The factor between (remaining, before), and its interval over the pairs."""
    if any(rms == 0 or before == 0 for rms, before in pairs):
        return {"factor": math.inf, "low": math.inf, "high": math.inf}
    logs = [math.log(before / rms) for rms, before in pairs]
    mean, n = sum(logs) / len(logs), len(logs)
    if n == 1:
        return {"factor": math.exp(mean), "low": 0.0, "high": math.inf}
    deviation = math.sqrt(sum((x - mean)**2 for x in logs) / (n - 1))
    half = _T95.get(n, 2.365 if n < 30 else 2.05) * deviation / math.sqrt(n)
    return {"factor": math.exp(mean), "low": math.exp(mean - half), "high": math.exp(mean + half)}


def side_mismatch(emulate, model, tokens, a, b):
    """See ulplab.torch.mismatch."""
    a, b = (_side(given, name, _type_of(model)) for given, name in ((a, "a"), (b, "b")))
    tokens = torch.as_tensor(tokens)
    if tokens.dim() != 2 or tokens.is_floating_point() or tokens.shape[1] < 2 or len(tokens) < 1:
        raise ValueError(f"tokens have shape {tuple(tokens.shape)}; give integers, sequences x places (2 or more)")
    embedding = next((each for each in model.modules() if isinstance(each, torch.nn.Embedding)), None)
    if embedding is not None and not 0 <= int(tokens.min()) <= int(tokens.max()) < embedding.num_embeddings:
        raise ValueError(f"tokens are {int(tokens.min())} to {int(tokens.max())}; the vocabulary is 0 to "
                         f"{embedding.num_embeddings - 1}")
    require_no_dropout(model)
    longest = max((each.in_features for each in model.modules() if isinstance(each, torch.nn.Linear)), default=None)
    for name, side in (("a", a), ("b", b)):
        require_pieces(_order(side["order"]), longest or math.inf, name)
    runs = _Model(emulate, model, tokens)
    recorder = _Recorder(a["dtype"] == b["dtype"])
    against, routers = _Recorder(recorder.casts, recorder), (_Routers(), _Routers())
    taken, firsts, logits, formats = {"a": [], "b": [], "fp64": []}, {}, {}, []
    same_batch = (a["batch"] or len(tokens)) == (b["batch"] or len(tokens))
    for name, side, seen, chosen in (("a", a, recorder, routers[0]), ("b", b, against, routers[1])):
        emulations = []
        logits[name] = runs.logits(side, 0, [chosen, seen] if same_batch else [chosen], taken[name], emulations)
        own = side["dtype"] or runs.type
        formats.append(_LOW.get(own) if side["recipe"] is None else emulations[0].low)
        firsts[name] = next((dict(each.rounding.first) for each in emulations if each.rounding.first), None)
        runs._known[repr(side), 0] = (runs.log_probabilities(logits[name])["logprobs"],
                                      _costs(emulations, own))
    exact = _Model(None, copy.deepcopy(model).double(), tokens)
    if hasattr(getattr(exact.model, "config", None), "_experts_implementation"):
        exact.model.config._experts_implementation = "eager"  # PyTorch's grouped products have no fp64
    with torch.no_grad(), exact.hooked(taken["fp64"]):
        result = exact.model(tokens)
        logits["fp64"] = (result if isinstance(result, torch.Tensor) else result.logits).detach()
    logs = {name: runs.log_probabilities(x) for name, x in logits.items()}
    layers = sum(isinstance(each, torch.nn.ModuleList) and len(each) for each in model.modules()) or 1
    width = embedding.embedding_dim if embedding is not None else logits["a"].shape[-1]
    found = SideMismatch(runs, a, b, mismatch(logs["a"], logs["b"], layers=int(layers), width=width,
                                              vocabulary=logits["a"].shape[-1]))
    found.log_probabilities = {name: each["logprobs"] for name, each in logs.items()}
    found.distance = {name: _rms(logs[name]["logprobs"] - logs["fp64"]["logprobs"]) for name in "ab"}
    found.first = against.first
    found.not_finite_first = firsts
    found.routers = routers[0].flips(routers[1])
    found.growth_by_module = _growth(*(_whole(taken[name]) for name in ("a", "b", "fp64")), _PRECISION.get(formats[0], 24))
    return found


def _whole(taken):
    """Of the modules' results, chunks of a batch one after the other."""
    joined = {}
    for path, result in taken:
        joined.setdefault(path, []).append(result.reshape(-1) if result.dtype is torch.float64 else result.reshape(-1).float())
    return {path: torch.cat(each) for path, each in joined.items()}


def _growth(a, b, exact, precision):
    found = Table()
    for path, x in a.items():
        y = b.get(path)
        if y is None or y.shape != x.shape:
            continue
        size, gap = _rms(x), (x.double() - y.double()).abs()
        binade = torch.frexp(torch.maximum(x.abs(), y.abs()).double().clamp_min(max(size, 1e-300))).exponent
        right = exact.get(path)
        found.append({"module": path, "differ": float((bits_of(x) != bits_of(y)).double().mean()),
                      "relative": _rms(gap) / size if size else 0.0, "ulps": float((gap * 2.0**(precision - binade)).max()),
                      "from_fp64": _rms(x - right) / size if size and right is not None and right.shape == x.shape else 0.0})
    return found
