"""PyTorch models as nets that are data: what the library's trainer reads."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import operator
import os
import pathlib
import tempfile
import warnings
from typing import Any, Sequence

import torch
from torch import nn
from torch.nn import functional

from . import _core


def _refuse(what, why):
    raise NotImplementedError(f"{what} is nothing that a net of the trainer can express: {why}")


def _need(name, module, **wanted):
    """Refuses a module whose attributes are others than these."""
    for attribute, value in wanted.items():
        found = getattr(module, attribute)
        if found != value:
            _refuse(f"{name} ({type(module).__name__})", f"{attribute} is {found}; it must be {value}")


# ---- Modules that are one layer, whatever they do inside ----

def _recurrent(kind):
    def layer(name, m, causal):
        _need(name, m, num_layers=1, bias=True, batch_first=True, bidirectional=False)
        if getattr(m, "proj_size", 0):
            _refuse(f"{name} ({type(m).__name__})", f"proj_size is {m.proj_size}")
        return {"layer": kind, "name": name, "width": m.hidden_size}, m.state_dict()
    return layer


def _attention(name, m, causal):
    _need(name, m, batch_first=True, bias_k=None, add_zero_attn=False, _qkv_same_embed_dim=True)
    if m.in_proj_bias is None:
        _refuse(f"{name} (MultiheadAttention)", "it has no bias")
    layer = {"layer": "attention", "name": name, "heads": m.num_heads, **({"dropout": m.dropout} if m.dropout else {})}
    return {**layer, "causal": True} if causal else layer, m.state_dict()


def _is_mixture(m):
    """Mixtral's block: a router, and experts whose matrices lie in one tensor each."""
    return all(hasattr(m, part) for part in ("gate", "experts")) and hasattr(m.experts, "gate_up_proj")


def _mixture(name, m, causal):
    top = getattr(m, "top_k", getattr(m.gate, "top_k", None))
    if type(m).__name__ != "MixtralSparseMoeBlock" or not isinstance(m.experts.act_fn, (nn.SiLU, nn.Module)):
        _refuse(f"{name} ({type(m).__name__})", "of mixtures of experts only Mixtral's softmax over the chosen is there")
    if getattr(m, "jitter_noise", 0):
        _refuse(f"{name} ({type(m).__name__})", f"jitter_noise is {m.jitter_noise}; it must be 0")
    linear = lambda part, outputs: {"layer": "linear", "name": part, "outputs": outputs, "bias": False}  # noqa: E731
    experts, weights, width = [], {"gate.weight": m.gate.weight}, m.experts.down_proj.shape[1]
    for i, (both, down) in enumerate(zip(m.experts.gate_up_proj, m.experts.down_proj)):
        part = f"experts.{i}"
        gate, up = both.chunk(2)
        for matrix, values in (("gate_proj", gate), ("up_proj", up), ("down_proj", down)):
            weights[f"{part}.{matrix}.weight"] = values
        part = f"{name}.{part}"
        gated = [[linear(f"{part}.gate_proj", len(gate)), {"layer": "silu"}], [linear(f"{part}.up_proj", len(up))]]
        experts.append([{"layer": "product", "branches": gated}, linear(f"{part}.down_proj", width)])
    return {"layer": "experts", "name": name, "top": top, "experts": experts}, weights


def _whole(module):
    """What makes a layer of a module as a whole, or None where its operations do."""
    if _is_mixture(module):
        return _mixture
    return {nn.MultiheadAttention: _attention, nn.LSTM: _recurrent("lstm"), nn.GRU: _recurrent("gru")}.get(type(module))


# ---- The graph of a model ----

class _Alone(nn.Module):
    """A model of one argument and one result."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        y = self.model(x)
        if isinstance(y, torch.Tensor):
            return y
        if hasattr(y, "logits"):
            return y.logits
        if len(y) != 1:
            raise ValueError("it has several results")
        return y[0]


@contextlib.contextmanager
def _training(model, replaced=()):
    """A model as it trains: without caches of keys, and with another forward of some modules."""
    config, modes = getattr(model, "config", None), [(m, m.training) for m in model.modules()]
    cache = getattr(config, "use_cache", None)
    for m in replaced:
        m.forward = torch.neg  # one operation, of any kind, in its place
    if cache:
        config.use_cache = False
    model.train()
    try:
        yield _Alone(model)
    finally:
        for m in replaced:
            del m.forward
        if cache:
            config.use_cache = cache
        for m, mode in modes:
            m.training = mode


@contextlib.contextmanager
def _without_logs():
    """A graph that cannot be made is said in one sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


SAME = {"contiguous", "clone", "alias", "detach", "lift_fresh_copy", "_to_copy", "to"}
ACTIVATIONS = {"relu": "relu", "relu_": "relu", "tanh": "tanh", "tanh_": "tanh", "gelu": "gelu", "silu": "silu", "silu_": "silu",
               "sigmoid": "sigmoid", "sigmoid_": "sigmoid"}
SCORES = {"scaled_dot_product_attention", "softmax", "_softmax", "_safe_softmax"}
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def _kind(node):
    """"add" for a call of aten.add.Tensor."""
    if node.op != "call_function":
        return node.op
    return "getitem" if node.target is operator.getitem else getattr(node.target, "_opname", str(node.target))


def _undropped(node, args):
    """Arguments of an operation, without the dropout that it has inside."""
    return (*args[:4], 0.0, *args[5:]) if _kind(node) == "scaled_dot_product_attention" and len(args) > 4 else args


def _rate_of(node):
    """What an operation drops of attention's probabilities."""
    if _kind(node) == "dropout" and node.args[2]:
        return node.args[1]
    return (*node.args, *[0.0] * 5)[4] if _kind(node) == "scaled_dot_product_attention" else 0.0


def _shape(node):
    return tuple(node.meta["val"].shape)


class _Reader:
    def __init__(self, model, example, causal):
        self._causal, self.changed = causal, False
        mixtures = [m for m in model.modules() if _is_mixture(m)]  # they choose rows by numbers, which no graph can hold
        with _training(model, mixtures) as alone, warnings.catch_warnings(), _without_logs():
            warnings.simplefilter("ignore")  # of LSTMs, which flatten their weights
            try:
                program = torch.export.export(alone, (example,), strict=False)
            except Exception as error:  # noqa: BLE001: whatever the model's forward does with a tracer
                first = str(error).strip().split("\n")[0][:200]
                _refuse(type(model).__name__, f"its forward cannot be traced ({first})")
        self._modules = dict(model.named_modules())
        self._nodes = list(program.graph.nodes)
        bare = lambda name: name.removeprefix("model.")  # noqa: E731
        signature = program.graph_signature
        self._parameters = {node: bare(signature.inputs_to_parameters[node.name]) for node in self._nodes
                            if node.name in signature.inputs_to_parameters}
        inputs, tensors = signature.user_inputs, {**dict(program.named_parameters()), **dict(program.named_buffers())}
        self._values = {node: (tensors | program.constants)[signature.inputs_to_parameters.get(
            node.name) or signature.inputs_to_buffers.get(node.name)
            or signature.inputs_to_lifted_tensor_constants[node.name]].detach()
            for node in self._nodes if node.op == "placeholder" and node.name not in inputs}
        (self._input,) = (node for node in self._nodes if node.name in inputs)
        (self._result,) = (node.args[0][-1] for node in self._nodes if node.op == "output")
        self._before, self.weights, self._names = {}, {}, set()
        for node in self._nodes:
            given = node.all_input_nodes
            self._before[node] = set(given).union(*(self._before[each] for each in given))

    def net(self):
        return self._chain(self._result, self._input)

    def outputs(self):
        return _shape(self._result)[-1]

    def _moves(self, node):
        """Whether a value comes from the input."""
        return node is self._input or self._input in self._before[node]

    def _chain(self, node, until):
        """The layers between two values, in order."""
        layers = []
        while node is not until:
            if node.op == "placeholder" or until not in self._before[node]:
                _refuse(self._where(node), "it does not come from the input of its branch")
            made, node = self._layers(node)
            layers = made + layers
        return layers

    def _stack(self, node):
        """Paths of the modules that a value was computed in, from the outermost."""
        return [path.removeprefix("model").removeprefix(".").split("@")[0]
                for path, _ in (node.meta.get("nn_module_stack") or {}).values() if path]

    def _where(self, node):
        path = next((path for path in reversed(self._stack(node)) if path in self._modules), "")
        return f"{path} ({type(self._modules[path]).__name__})" if path else f"'{node}'"

    def _evaluate(self, wanted, given):
        """A node's value where others have these values."""
        values, stack = dict(given), [wanted]
        while stack:
            node = stack[-1]
            missing = [each for each in node.all_input_nodes if each not in values and each not in self._values]
            if node in values or node in self._values:
                stack.pop()
            elif missing:
                stack += missing
            else:
                take = lambda n: values.get(n, self._values.get(n))  # noqa: E731
                args, kwargs = (torch.fx.node.map_arg(each, take) for each in (node.args, node.kwargs))
                with torch.no_grad():
                    values[node] = args[0] if _kind(node) == "dropout" else node.target(*_undropped(node, args), **kwargs)
                if not self._moves(node):
                    self._values[node] = values[node]
                stack.pop()
        return values[wanted] if wanted in values else self._values[wanted]

    def _same(self, node):
        """The value that one is but for its place in memory."""
        while isinstance(node, torch.fx.Node) and node.op == "call_function" and _kind(node) in SAME and (
                node.meta["val"].dtype == node.args[0].meta["val"].dtype):
            node = node.args[0]
        return node

    # ---- Names and weights ----

    def _named(self, node, **parameters):
        """NAME where parameters are called NAME.weight and so on; the net has them under these names."""
        full = {part: self._parameters.get(self._same(each)) for part, each in parameters.items() if each is not None}
        if None in full.values():
            _refuse(self._where(node), "its weights are no parameters")
        name = full["weight"]
        name = name.removesuffix(".weight") if name.endswith(".weight") else name
        self._take(node, name, {part: self._values[self._same(parameters[part])] for part in full})
        return name

    def _take(self, node, name, weights):
        if name in self._names:
            _refuse(self._where(node), f"the weights of {name} are used twice")
        self._names.add(name)
        self.weights |= {f"{name}.{part}": value for part, value in weights.items()}

    # ---- Layers ----

    def _layers(self, node):
        """The layers that make a value, and the value that they make it of."""
        for path in self._stack(node):
            whole = _whole(self._modules.get(path))
            if whole is not None:
                return self._of_module(node, path, whole)
        kind = _kind(node)
        if self._same(node) is not node:
            return [], self._same(node)
        if kind in ACTIVATIONS:
            if node.kwargs.get("approximate", "none") != "none":
                _refuse(self._where(node), f"approximate is {node.kwargs['approximate']}; it must be none")
            return [{"layer": ACTIVATIONS[kind]}], node.args[0]
        handler = getattr(self, f"_of_{kind.rstrip('_')}", None)
        if handler is None or node.op != "call_function":
            _refuse(self._where(node), f"there is no such layer ({kind})")
        return handler(node, *node.args, **node.kwargs)

    def _of_module(self, node, path, whole):
        inside = {each for each in self._nodes if path in self._stack(each)}
        given = {each for one in inside for each in one.all_input_nodes if each not in inside and self._moves(each)}
        what = f"{path} ({type(self._modules[path]).__name__})"
        if len(given) != 1:
            _refuse(what, "its inputs are different")
        (x,) = given
        if _kind(node) == "getitem" and node.args[1] != 0 or _shape(node)[:-1] != _shape(x)[:-1]:
            _refuse(what, "another result than its first is used")
        layer, weights = whole(path, self._modules[path], self._causal or self._sees_earlier_alone(node, x, what))
        self.changed = self.changed or "dropout" in layer
        self._take(node, path, weights)
        return [layer], x

    def _sees_earlier_alone(self, node, x, what):
        if not isinstance(self._modules[what.split(" ")[0]], nn.MultiheadAttention):
            return False
        y = torch.randn(_shape(x))
        other = torch.cat([y[:, :-1], torch.randn_like(y[:, -1:])], 1)
        first, second = (self._evaluate(node, {x: each})[:, :-1] for each in (y, other))
        return first.shape[1] > 0 and torch.equal(first, second)

    def _of_linear(self, node, x, weight, bias=None):
        attention = self._attention_before(node, self._same(x))
        if attention:
            return attention
        layer = {"layer": "linear", "name": self._named(node, weight=weight, bias=bias), "outputs": _shape(node)[-1]}
        return [layer if bias is not None else {**layer, "bias": False}], x

    def _of_conv2d(self, node, x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
        kernel = _shape(weight)[2:]
        if isinstance(padding, str):
            padding = [size // 2 if padding == "same" else 0 for size in kernel]
        for what, pair in (("kernel_size", kernel), ("stride", stride), ("padding", padding)):
            if pair[0] != pair[-1]:
                _refuse(self._where(node), f"{what} is {tuple(pair)}; it must be square")
        if dilation[0] != 1:
            _refuse(self._where(node), f"dilation is {dilation[0]}; it must be 1")
        layer = {"layer": "conv", "name": self._named(node, weight=weight, bias=bias), "channels": _shape(node)[1],
                 "kernel": kernel[0], "stride": stride[0]}
        padded = {**({"padding": padding[0]} if padding[0] != kernel[0] // 2 else {}), **({"groups": groups} if groups > 1 else {})}
        return [{**layer, **padded, **({} if bias is not None else {"bias": False})}], x

    def _of_batch_norm(self, node, x, weight, bias, mean, variance, training, momentum, eps, *others):
        if weight is None or mean is None:
            _refuse(self._where(node), "it has no parameters or no running statistics")
        name = self._named(node, weight=weight, bias=bias)
        self.weights |= {f"{name}.running_mean": self._values[mean], f"{name}.running_var": self._values[variance]}
        return [{"layer": "batch_norm", "name": name, "momentum": momentum, "eps": eps}], x

    def _of_layer_norm(self, node, x, shape, weight=None, bias=None, eps=1e-5, *others):
        if len(shape) != 1 or weight is None or bias is None:
            _refuse(self._where(node), "it normalises several dimensions, or has no weight or bias")
        return [{"layer": "layer_norm", "name": self._named(node, weight=weight, bias=bias), "eps": eps}], x

    def _of_rms_norm(self, node, x, shape, weight=None, eps=None):
        if len(shape) != 1 or weight is None:
            _refuse(self._where(node), "it normalises several dimensions, or has no weight")
        eps = torch.finfo(torch.float32).eps if eps is None else eps
        return [{"layer": "rms_norm", "name": self._named(node, weight=weight), "eps": eps}], x

    def _of_max_pool2d(self, node, x, window, stride=(), padding=(0,), dilation=(1,), ceil=False):
        sizes = {*window, *(stride or window)}
        if len(sizes) != 1 or {*padding} != {0} or {*dilation} != {1} or ceil:
            _refuse(self._where(node), "windows are square and do not overlap")
        return [{"layer": "pool", "window": window[0]}], x

    def _of_avg_pool2d(self, node, x, window, stride=(), padding=(0,), ceil=False, include=True, divisor=None):
        if ceil or divisor or len({*window, *(stride or window)}) != 1 or {*padding} != {0}:
            _refuse(self._where(node), "windows are square and do not overlap")
        return [{"layer": "average_pool", "window": window[0]}], x

    def _of_leaky_relu(self, node, x, slope=0.01):
        return [{"layer": "leaky_relu", "slope": slope}], x

    def _of_adaptive_avg_pool2d(self, node, x, size):
        if {*size} != {1}:
            _refuse(self._where(node), f"output_size is {size}; it must be 1")
        return [{"layer": "global_average"}], x

    def _of_mean(self, node, x, dimensions=None, keepdim=False, **others):
        if len(_shape(x)) != 4 or {d % 4 for d in dimensions or ()} != {2, 3}:
            _refuse(self._where(node), f"there is no such layer (mean over {dimensions})")
        return [{"layer": "global_average"}], x

    def _of_embedding(self, node, weight, x, padding_idx=-1, *others):
        if padding_idx >= 0 or any(others):
            _refuse(self._where(node), f"padding_idx is {padding_idx}; it must be None" if padding_idx >= 0 else
                    "scale_grad_by_freq or sparse is set")
        words, width = _shape(weight)
        return [{"layer": "embedding", "name": self._named(node, weight=weight), "words": words, "width": width}], x

    def _of_dropout(self, node, x, rate, training):
        self.changed = self.changed or rate > 0
        return [{"layer": "dropout", "rate": rate}] if rate > 0 and training else [], x

    def _of_flatten(self, node, x, start=0, end=-1):
        return self._of_view(node, x, None)

    def _of_view(self, node, x, shape):
        before, after = _shape(x), _shape(node)
        if before == after:
            return [], x
        if before[0] == after[0] and len(after) == 2:
            return [{"layer": "flatten"}], x
        if before[0] == after[0] and len(before) == 2 and len(after) == 3:
            return [{"layer": "rows", "count": after[1]}], x
        _refuse(self._where(node), f"there is no such layer ({_kind(node)} of {before} to {after})")

    _of_reshape = _of__unsafe_view = _of_view

    def _of_getitem(self, node, x, index):
        _refuse(self._where(node), "one of several results is taken")

    # ---- Values put together ----

    def _of_add(self, node, a, b, alpha=1):
        """A way around, branches, or learned rows for the places of a sequence."""
        if alpha != 1 or not all(isinstance(each, torch.fx.Node) for each in (a, b)):
            _refuse(self._where(node), "a constant is added")
        for x, rows in ((a, b), (b, a)):
            if not self._moves(rows):
                return self._of_places(node, x, rows)
        a, b = self._same(a), self._same(b)
        base, inside = (a, b) if a in self._before[b] else (b, a)
        if base in self._before[inside]:
            return [{"layer": "residual", "inside": self._chain(inside, base)}], base
        return self._of_branches("sum", [a, b])

    def _of_places(self, node, x, rows):
        value, sources = self._evaluate(rows, {}), [each for each in {rows, *self._before[rows]} if each in self._parameters]
        time, width = _shape(x)[1:] if len(_shape(x)) == 3 else (0, 0)
        table = self._values[sources[0]].reshape(-1, width)[:time] if len(sources) == 1 and width else None
        if table is None or value.numel() != table.numel() or not torch.equal(value.reshape(table.shape), table):
            _refuse(self._where(node), "a constant is added")
        name = self._parameters[sources[0]].removesuffix(".weight")
        self._take(node, name, {"weight": table})
        return [{"layer": "places", "name": name}], x

    def _of_mul(self, node, a, b):
        norm = self._rms_norm_at(node, a, b)
        if norm:
            return norm
        if isinstance(b, (int, float)):
            return [{"layer": "scale", "factor": float(b)}], a
        if not (isinstance(a, torch.fx.Node) and self._moves(a) and self._moves(b)):
            _refuse(self._where(node), "a constant multiplies")
        return self._of_branches("product", [self._same(a), self._same(b)])

    def _of_div(self, node, a, b):
        if not isinstance(b, (int, float)):
            _refuse(self._where(node), "there is no such layer (div)")
        return [{"layer": "scale", "factor": 1 / b}], a

    def _of_cat(self, node, parts, dimension=0):
        if dimension % len(_shape(node)) != 1:
            _refuse(self._where(node), f"it puts parts together along dimension {dimension}; it must be 1")
        return self._of_branches("branches", parts)

    def _of_branches(self, kind, parts):
        shared = set.intersection(*(self._before[part] | {part} for part in parts))
        base = next((node for node in reversed(self._nodes) if node in shared and self._moves(node)), None)
        if base is None:
            _refuse(f"'{parts[0]}'", "it has no input in common with what it is put together with")
        return [{"layer": kind, "branches": [self._chain(part, base) for part in parts]}], base

    # ---- What several operations are together: recognised by its form, then compared number by number ----

    def _rms_norm_at(self, node, a, b):
        """weight * (x * rsqrt(mean of x^2 + eps)), written out."""
        weights = [each for each in (a, b) if isinstance(each, torch.fx.Node) and self._same(each) in self._parameters]
        if len(weights) != 1:
            return None
        inside, base, eps = [b if weights[0] is a else a], None, None
        for each in inside:  # breadth first: the nearest square is this norm's
            if _kind(each) == "add" and isinstance(each.args[1], float):
                eps = each.args[1]
            if _kind(each) in ("pow", "square") or _kind(each) == "mul" and each.args[0] is each.args[1]:
                base = each.args[0]
                break
            if _kind(each) in ("mul", "mean", "add", "rsqrt", "sqrt", "div", "reciprocal", "to"):
                inside += [one for one in each.all_input_nodes if one not in inside and self._moves(one)]
        if base is None or eps is None:
            return None
        weight = self._same(weights[0])
        x = torch.randn(_shape(base))
        expected = functional.rms_norm(x, x.shape[-1:], self._values[weight], eps)
        if not torch.allclose(self._evaluate(node, {base: x}), expected, **CLOSE):
            return None
        return [{"layer": "rms_norm", "name": self._named(node, weight=weight), "eps": eps}], base

    def _attention_before(self, node, core):
        """The layer of an output projection and the attention before it, if there is one."""
        projections, inside, stack = [], [], [core]
        while stack:
            each = stack.pop()
            if each in inside or each in projections or not self._moves(each):
                continue
            (projections if _kind(each) in ("linear", "addmm") else inside).append(each)
            stack += each.all_input_nodes if _kind(each) not in ("linear", "addmm") else []
        scores = [each for each in inside if _kind(each) in SCORES]
        if not scores:
            return None
        if len(scores) != 1 or len(projections) not in (1, 3) or len({self._same(p.args[0]) for p in projections}) != 1 or any(
                _kind(p) == "addmm" for p in projections):
            _refuse(self._where(node), "its queries, keys and values are no three linear layers of one input")
        q, k = self._operands(scores[0])
        heads = math.prod(_shape(q)[:-2]) // _shape(core)[0]
        each = _shape(q)[-1]
        if len(projections) == 3:
            first, second = ([p for p in projections if p is n or p in self._before[n]] for n in (q, k))
            third = [p for p in projections if p not in first + second]
            if [len(first), len(second), len(third)] != [1, 1, 1]:
                _refuse(self._where(node), "its queries, keys and values are no three linear layers of one input")
            projections = first + second + third
        layers, x = self._attention_of(node, core, projections, q, heads, each)
        rate = max(_rate_of(each) for each in inside)
        self.changed = self.changed or rate > 0
        return [{**layers[0], **({"dropout": rate} if rate else {})}], x

    def _operands(self, scores):
        """The queries and keys whose products the softmax is of."""
        while _kind(scores) not in ("scaled_dot_product_attention", "matmul", "bmm", "baddbmm"):
            scores = next(each for each in scores.all_input_nodes if self._moves(each))
        return scores.args[1:3] if _kind(scores) == "baddbmm" else scores.args[:2]

    def _attention_of(self, node, core, projections, q, heads, each):
        batch, time, _ = _shape(projections[0])
        fused = len(projections) == 1
        widths = [_shape(p)[-1] for p in projections]
        if fused:
            few = (widths[0] - heads * each) // 2
            widths = [heads * each, few, few]
        key_heads = widths[1] // each
        given = torch.randn(batch, time, sum(widths))
        values = dict(zip(projections, [given] if fused else given.split(widths, -1)))
        found = self._evaluate(core, values)
        rotary = self._rotary(projections[0], q, heads, each, sum(widths) if fused else widths[0])
        for causal in (True, False):
            if torch.allclose(found, _attention_as(given.split(widths, -1), heads, key_heads, causal, rotary), **CLOSE):
                break
        else:
            _refuse(self._where(node), "its attention is not softmax(q k^T / sqrt(head width)) v over all or the earlier "
                    "places, with heads side by side and rotary places of one base")
        return self._attention_layer(node, projections, widths, heads, key_heads, causal, rotary)

    def _rotary(self, projection, q, heads, each, width):
        """(base, adjacent) by the angles that place 1 turns unit vectors by; None where it turns nothing."""
        batch, time, _ = _shape(projection)

        def turned(place):
            x = torch.zeros(batch, time, width)
            x[..., place] = 1
            return self._evaluate(q, {projection: x}).reshape(batch, heads, time, -1)[0, 0]
        if time < 2 or each % 2 or torch.equal(*turned(1)[:2]):
            return None
        adjacent = bool(each > 2 and turned(1)[1, 0].abs() > 1e-6)
        if each == 2:
            return 10000.0, False
        first, partner = (2, 3) if adjacent else (1, 1 + each // 2)
        row = turned(first)[1].double()
        angle = math.atan2(row[partner], row[first])
        return (float(f"{angle ** (-each / 2):.4g}"), adjacent) if angle > 0 else None

    def _attention_layer(self, node, projections, widths, heads, key_heads, causal, rotary):
        out = (node.args + (None,))[:3]
        names = [self._parameters.get(self._same(each)) for each in (*(p.args[1] for p in projections), out[1])]
        if None in names:
            _refuse(self._where(node), "its weights are no parameters")
        prefix = os.path.commonprefix([f"{name}." for name in names])
        name = prefix[:prefix.rfind(".")] if "." in prefix else names[-1].removesuffix(".weight")
        value = lambda n: None if n is None else self._values[self._same(n)]  # noqa: E731
        parts = [[torch.cat([value(p.args[i]) for p in projections]) if len(projections[0].args) > i and
                  projections[0].args[i] is not None else None for i in (1, 2)], [value(each) for each in out[1:3]]]
        plain = rotary is None and key_heads == heads and parts[0][1] is not None and parts[1][1] is not None
        layer = {"layer": "attention", "name": name, "heads": heads, **({"causal": True} if causal else {})}
        if plain and len(projections) == 1:
            weights = {"in_proj_weight": parts[0][0], "in_proj_bias": parts[0][1], "out_proj.weight": parts[1][0],
                       "out_proj.bias": parts[1][1]}
        else:
            layer |= {"layer": "grouped_attention", "key_value_heads": key_heads, "head_width": widths[0] // heads,
                      "bias": parts[0][1] is not None, "out_bias": parts[1][1] is not None}
            if rotary:
                layer |= {"rotary": rotary[0], **({"adjacent": True} if rotary[1] else {})}
            weights = {f"{part}_proj.{what}": each for what, all_of, last in (
                ("weight", parts[0][0], parts[1][0]), ("bias", parts[0][1], parts[1][1]))
                for part, each in zip("qkvo", (*(all_of.split(widths) if all_of is not None else [None] * 3), last))
                if each is not None}
        self._take(node, name, weights)
        return [layer], self._same(projections[0].args[0])


def _attention_as(given, heads, key_heads, causal, rotary):
    """What grouped_attention computes between its projections."""
    def split(x, count):
        return x.unflatten(-1, (count, -1)).transpose(1, 2)

    def turn(x):
        if rotary is None:
            return x
        base, adjacent = rotary
        time, each = x.shape[-2:]
        angles = torch.arange(time)[:, None] * base ** (-torch.arange(0, each, 2).double() / each)
        a, b = (x[..., ::2], x[..., 1::2]) if adjacent else x.chunk(2, -1)
        y = a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()
        return (torch.stack(y, -1).flatten(-2) if adjacent else torch.cat(y, -1)).to(x.dtype)
    q, k, v = turn(split(given[0], heads)), turn(split(given[1], key_heads)), split(given[2], key_heads)
    k, v = (each.repeat_interleave(heads // key_heads, 1) for each in (k, v))
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)


def _require_equal(model, text, weights, example):
    """Refuses a net that computes other numbers than the model, in fp32."""
    state = {key: value.clone() for key, value in model.state_dict().items()}
    with _training(model) as alone, torch.no_grad():
        expected = torch.func.functional_call(alone, {f"model.{key}": value for key, value in state.items()}, (example,))
    dy = torch.zeros_like(expected).numpy()
    found = torch.from_numpy(_core.net_gradients(text, example.float().numpy(), dy, {
        "recipe": "fp32", "unit": "eigen", "weights": str(weights)})[0])
    difference = ((found - expected).norm() / expected.norm().clamp_min(1e-30)).item()
    if not difference < 1e-3:
        _refuse(type(model).__name__, f"the net's numbers differ from the model's by a relative {difference:.2g}")


def export(model: nn.Module, file: str | os.PathLike[str], *, shape: Sequence[int], tokens: int | None = None,
           task: str | None = None, causal: bool = False, name: str | None = None) -> tuple[dict[str, Any], pathlib.Path]:
    """Writes a model as a net of the library's trainer: FILE.json, and its weights as FILE.safetensors.

    model    a module of one argument that torch.export can trace, in training mode, to layers of docs/nets.md: a chain with
             ways around and branches, normalisations, attention of a sequence to itself (also written out, grouped, with
             rotary places), models of transformers such as LlamaForCausalLM and MixtralForCausalLM
    file     "net.json"
    shape    of an example: (channels, height, width), (numbers,) or (length,) for tokens
    tokens   how many there are, for nets of tokens
    task     "images" or "text"; by default as tokens say
    causal   whether attention sees earlier places alone, where the model's own mask does not say so

    Returns (net, weights): the dictionary and the second file's path, which ulplab.train, ulplab.gradients and
    `ulplab train --net FILE.json --weights FILE.safetensors` take. In the same arithmetic the trainer's gradients have the
    bits of ulplab.torch.emulate's where both compute by the same operations. A net without dropout has been compared with
    the model in fp32.

    NotImplementedError that names what the nets cannot express. DataError where shapes do not fit.
    """
    if next((p for p in model._parameters.values()), None) is not None or _whole(model):
        _refuse(type(model).__name__, "it is a single layer; give torch.nn.Sequential(model)")
    path = pathlib.Path(file)
    if path.suffix != ".json":
        raise ValueError(f"the net's file is {path}; its name must end in .json")
    for key, parameter in model.named_parameters():
        if parameter.dtype is not torch.float32:
            _refuse(key, f"it is {parameter.dtype}; give model.float()")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return _export(model, path, shape, tokens, task, causal, name)


def _export(model, path, shape, tokens, task, causal, name):
    example = torch.randint(0, tokens, (2, *shape)) if tokens else torch.randn(2, *shape)
    reader = _Reader(model, example, causal)
    layers = reader.net()
    given = {"shape": list(shape), **({"tokens": tokens} if tokens else {})}
    text = _core.checked_net(json.dumps({
        "name": name or path.stem, "task": task or ("text" if tokens else "images"), "input": given,
        "outputs": reader.outputs(), "layers": layers}))
    weights = path.with_suffix(".safetensors")
    arrays = {key: value.detach().contiguous().numpy() for key, value in reader.weights.items()}
    with tempfile.TemporaryDirectory() as folder:
        trial = pathlib.Path(folder, "trial.safetensors")
        _core.write_weights(str(trial), arrays)
        if not reader.changed and not causal:
            _require_equal(model, text, trial, example)
    _core.write_weights(str(weights), arrays)
    path.write_text(text)
    return json.loads(text), weights
