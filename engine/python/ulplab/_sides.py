"""How far two arithmetics of one model differ on the same tokens. ulplab.torch.mismatch is the interface."""

import contextlib
import copy

import torch

from ._backends import backend_of
from ._invariance import computed_in, require_no_dropout
from ._mismatch import Mismatch, mismatch

_DEFAULTS = {"unit": "h100", "recipe": "bf16", "order": None, "fp32": (), "batch": None, "modules": {}}
_FP32 = {"recipe": "fp32"}


def _side(given, name):
    """A side with all of its fields, and a unit that has every recipe's products."""
    unknown = sorted(set(given) - set(_DEFAULTS))
    if unknown:
        raise ValueError(f"{name} has no {', '.join(unknown)}; a side is a dictionary of {', '.join(_DEFAULTS)}")
    side = {**_DEFAULTS, **given}
    if side["batch"] is not None and not (isinstance(side["batch"], int) and side["batch"] >= 1):
        raise ValueError(f"{name} has batch {side['batch']!r}; give rows that are computed together, 1 or more")
    return side


def _emulation(emulate, side):
    backend = backend_of(side["unit"])
    if side["recipe"] in ("fp32", "tf32") and backend not in ("soft:ieee", "eigen"):
        backend = f"with_ieee({backend})"
    order = None if side["recipe"] == "fp32" else side["order"]  # IEEE sums have their written order
    return emulate(backend, side["recipe"], order=order, fp32=side["fp32"], strict=False)


class _Model:
    """The model's log-probabilities of tokens, by a side."""

    def __init__(self, emulate, model, tokens):
        self.emulate, self.model, self.tokens = emulate, model, tokens
        self.paths = {path: each for path, each in model.named_modules() if path}

    def paths_of(self, pattern):
        found = [path for path in self.paths if path == pattern or path.endswith("." + pattern)]
        if not found:
            raise ValueError(f"no module's path is or ends in {pattern!r}; there are {', '.join(list(self.paths)[:8])}, ...")
        return found

    def _exchanges(self, side):
        return {path: _side({**side, "modules": {}, **changes}, f"modules[{pattern!r}]")
                for pattern, changes in side["modules"].items() for path in self.paths_of(pattern)}

    def logits(self, side, observer=None, taken=None):
        """Of all tokens. taken: a list that gets (path, result) of each module without children, in order."""
        rows = []
        for chunk in self.tokens.split(side["batch"] or len(self.tokens)):
            with torch.no_grad(), contextlib.ExitStack() as stack:
                outer = _emulation(self.emulate, side)
                for path, other in self._exchanges(side).items():
                    stack.enter_context(computed_in(self.paths[path], lambda x, other=other: _emulation(self.emulate, other)))
                if taken is not None:
                    for path, each in self.paths.items():
                        if not list(each.children()):
                            stack.callback(each.register_forward_hook(_keeping(taken, path)).remove)
                if observer is not None:
                    outer.observers.append(observer)
                stack.enter_context(outer)
                rows.append(_logits_of(self.model(chunk)))
        return torch.cat(rows)

    def log_probabilities(self, logits):
        """Of each token but the first, given those before it: {"tokens", "logprobs", "argmax"} as arrays."""
        following = self.tokens[:, 1:]
        logs = torch.log_softmax(logits[:, :-1].double(), -1)
        return {"tokens": following, "logprobs": logs.gather(2, following[..., None])[..., 0],
                "argmax": logits[:, :-1].argmax(-1)}


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


class _Recorder:
    """Results in order of execution; against an earlier recorder it keeps the first that has other bits."""

    def __init__(self, earlier=None):
        self.earlier, self.results, self.count, self.first = earlier, [], 0, None

    def __call__(self, func, name, where, args, kwargs, result):
        if not isinstance(result, torch.Tensor) or result.dtype is not torch.float32 or self.first is not None:
            return
        if self.earlier is None:
            self.results.append((name, result.detach().clone()))
            return
        known, other = self.earlier.results[self.count] if self.count < len(self.earlier.results) else (None, None)
        self.count += 1
        if known != name or other.shape != result.shape:
            self.first = {"module": where["module"], "operation": name, "element": None, "a": None, "b": None}
            return
        differ = other.contiguous().view(torch.int32) != result.detach().contiguous().view(torch.int32)
        if bool(differ.any()):
            at = tuple(differ.nonzero()[0].tolist())
            self.first = {"module": where["module"], "operation": name, "element": at, "a": float(other[at]),
                          "b": float(result[at])}


class SideMismatch(Mismatch):
    """The figures of ulplab.Mismatch for two arithmetics of one model, and where they come from.

    log_probabilities   {"a": ..., "b": ..., "fp64": ...}, tensors of (sequences, places - 1)
    distance            {"a": ..., "b": ...}: rms of the difference from fp64
    first               the first operation whose bits differ: module, operation, element, a, b; None where none does, and
                        where the batches differ
    growth_by_module    for each module without children, in order: module, differ (share of elements), relative (rms of
                        the difference to that of a)
    by_module(), remedies()   made when asked for
    """

    def __init__(self, runs, a, b, found):
        self.__dict__.update(vars(found))
        self._runs, self._a, self._b = runs, a, b
        self.causes = []  # they are known here: see first, by_module and remedies

    def _gap(self, a, b):
        return float((self._logs(b) - self._logs(a)).pow(2).mean().sqrt())

    def _logs(self, side):
        return self._runs.log_probabilities(self._runs.logits(side))["logprobs"]

    def by_module(self, modules=None):
        """What each module contributes: its arithmetic alone is b's, all else a's. A list of module, rms and share (of the
        mean square of d), the largest first; then "remainder", as shares need not add up."""
        paths = [path for each in modules for path in self._runs.paths_of(each)] if modules is not None else [
            path for path, each in self._runs.paths.items() if not list(each.children()) and list(each.parameters())]
        other = {name: value for name, value in self._b.items() if name not in ("modules", "batch")}
        logs, whole, found = self._logs(self._a), max(self.rms or 0.0, 1e-300)**2, []
        for path in paths:
            gap = self._logs({**self._a, "modules": {**self._a["modules"], path: other}}) - logs
            rms = float(gap.pow(2).mean().sqrt())
            found.append({"module": path, "rms": rms, "share": rms**2 / whole})
        found.sort(key=lambda each: -each["rms"])
        rest = 1 - sum(each["share"] for each in found)
        return found + [{"module": "remainder", "rms": None, "share": rest}]

    def remedies(self, head=None):
        """The gap that remains after each remedy, the smallest first: a list of name, rms, factor (by which the gap
        falls). head: the module that gives logits, by default the last Linear layer."""
        linear = [path for path, each in self._runs.paths.items() if isinstance(each, torch.nn.Linear)]
        head = head or (linear[-1] if linear else None)
        norms = [path for path, each in self._runs.paths.items() if "norm" in type(each).__name__.lower()]
        a, b = self._a, self._b

        def in_fp32(paths):
            return [{**side, "modules": {**side["modules"], **dict.fromkeys(paths, _FP32)}} for side in (a, b)]

        fp16 = [{**side, "recipe": {"bf16": "mixed_fp16"}.get(side["recipe"], side["recipe"])} for side in (a, b)]
        tries = {"one order": [a, {**b, "order": a["order"], "batch": a["batch"]}],
                 "one recipe": [a, {**b, "recipe": a["recipe"]}], "fp16 in place of bf16": fp16,
                 "fp32 head": in_fp32([head] if head else []), "fp32 norms": in_fp32(norms),
                 "fp32 softmax": [{**side, "fp32": (*side["fp32"], "softmax")} for side in (a, b)]}
        found = []
        for name, (one, other) in tries.items():
            if [one, other] == [a, b]:
                continue  # changes nothing
            rms = self._gap(one, other)
            found.append({"name": name, "rms": rms, "factor": (self.rms or 0.0) / rms if rms else float("inf")})
        return sorted(found, key=lambda each: each["rms"])

    def __repr__(self):
        sides = [f"{name} " + (", ".join(f"{key} {value}" for key, value in side.items() if value != _DEFAULTS[key]) or
                               "h100, bf16, one chain") for name, side in (("A", self._a), ("B", self._b))]
        figures = self._text.split("\n", 2)[2].split("\n\nWhat would make")[0].rstrip("\n")
        lines = [*sides, figures, f"rms from fp64: A {self.distance['a']:.4g}, B {self.distance['b']:.4g}"]
        if self.first:
            f = self.first
            lines.append(f"first difference: {f['operation']} of {f['module'] or '(no module)'}, element {f['element']}: "
                         f"{f['a']!r} and {f['b']!r}")
        return "\n".join(lines)


def side_mismatch(emulate, model, tokens, a, b):
    """See ulplab.torch.mismatch."""
    a, b = _side(a, "a"), _side(b, "b")
    if tokens.dim() != 2 or tokens.is_floating_point() or tokens.shape[1] < 2 or len(tokens) < 1:
        raise ValueError(f"tokens have shape {tuple(tokens.shape)}; give integers, sequences x places (2 or more)")
    embedding = next((each for each in model.modules() if isinstance(each, torch.nn.Embedding)), None)
    if embedding is not None and not 0 <= int(tokens.min()) <= int(tokens.max()) < embedding.num_embeddings:
        raise ValueError(f"tokens are {int(tokens.min())} to {int(tokens.max())}; the vocabulary is 0 to "
                         f"{embedding.num_embeddings - 1}")
    require_no_dropout(model)
    runs = _Model(emulate, model, tokens)
    recorder, taken = _Recorder(), {"a": [], "b": []}
    same_batch = (a["batch"] or len(tokens)) == (b["batch"] or len(tokens))
    logits = {"a": runs.logits(a, recorder if same_batch else None, taken["a"])}
    against = _Recorder(recorder)
    logits["b"] = runs.logits(b, against if same_batch else None, taken["b"])
    with torch.no_grad():
        logits["fp64"] = _logits_in_fp64(model, tokens)
    logs = {name: runs.log_probabilities(x) for name, x in logits.items()}
    layers = sum(isinstance(each, torch.nn.ModuleList) and len(each) for each in model.modules()) or 1
    width = embedding.embedding_dim if embedding is not None else logits["a"].shape[-1]
    found = SideMismatch(runs, a, b, mismatch(logs["a"], logs["b"], layers=int(layers), width=width,
                                              vocabulary=logits["a"].shape[-1]))
    found.log_probabilities = {name: each["logprobs"] for name, each in logs.items()}
    found.distance = {name: float((logs[name]["logprobs"] - logs["fp64"]["logprobs"]).pow(2).mean().sqrt()) for name in "ab"}
    found.first = against.first
    found.growth_by_module = _growth(taken["a"], taken["b"])
    return found


def _logits_in_fp64(model, tokens):
    result = copy.deepcopy(model).double()(tokens)
    return (result if isinstance(result, torch.Tensor) else result.logits).detach()


def _growth(a, b):
    """Of the modules' results, chunks of a batch one after the other."""
    def whole(taken):
        joined = {}
        for path, result in taken:
            joined.setdefault(path, []).append(result.reshape(-1))
        return {path: torch.cat(each) for path, each in joined.items()}

    found, others = [], whole(b)
    for path, x in whole(a).items():
        y = others.get(path)
        if y is None or y.shape != x.shape:
            continue
        size = float(x.double().pow(2).mean().sqrt())
        found.append({"module": path, "differ": float((x.view(torch.int32) != y.view(torch.int32)).double().mean()),
                      "relative": float((x.double() - y.double()).pow(2).mean().sqrt()) / size if size else 0.0})
    return found
