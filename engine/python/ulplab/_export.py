"""PyTorch models as nets that are data: what the library's trainer reads."""

from __future__ import annotations

import json
import operator
import os
import pathlib
from typing import Any, Sequence

import torch
from torch import fx, nn
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


def _needs_bias(name, module):
    if module.bias is None:
        _refuse(f"{name} ({type(module).__name__})", "it has no bias")


def _pair(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x, x)


# ---- Modules ----

def _linear(name, m):
    _needs_bias(name, m)
    return [{"layer": "linear", "name": name, "outputs": m.out_features}]


def _conv(name, m):
    _needs_bias(name, m)
    _need(name, m, dilation=(1, 1), groups=1, padding_mode="zeros")
    kernel, stride = m.kernel_size[0], m.stride[0]
    _need(name, m, kernel_size=(kernel, kernel), stride=(stride, stride), padding=(kernel // 2, kernel // 2))
    return [{"layer": "conv", "name": name, "channels": m.out_channels, "kernel": kernel, "stride": stride}]


def _batch_norm(name, m):
    _need(name, m, eps=1e-5, momentum=0.3, affine=True, track_running_stats=True)
    return [{"layer": "batch_norm", "name": name}]


def _layer_norm(name, m):
    _need(name, m, eps=1e-5, elementwise_affine=True)
    if len(m.normalized_shape) != 1:
        _refuse(f"{name} (LayerNorm)", f"it normalises {len(m.normalized_shape)} dimensions")
    return [{"layer": "layer_norm", "name": name}]


def _max_pool(name, m):
    window = _pair(m.kernel_size)[0]
    for what, found in (("kernel_size", m.kernel_size), ("stride", m.stride)):
        if _pair(found) != (window, window):
            _refuse(f"{name} (MaxPool2d)", f"{what} is {found}; windows are square and do not overlap")
    _need(name, m, padding=0, dilation=1, ceil_mode=False)
    return [{"layer": "pool", "window": window}]


def _global_average(name, m):
    if _pair(m.output_size) != (1, 1):
        _refuse(f"{name} (AdaptiveAvgPool2d)", f"output_size is {m.output_size}; it must be 1")
    return [{"layer": "global_average"}]


def _gelu(name, m):
    _need(name, m, approximate="none")
    return [{"layer": "gelu"}]


def _dropout(name, m):
    return [{"layer": "dropout", "rate": m.p}] if m.p > 0 else []


def _flatten(name, m):
    _need(name, m, start_dim=1, end_dim=-1)
    return [{"layer": "flatten"}]


def _embedding(name, m):
    _need(name, m, padding_idx=None, max_norm=None, scale_grad_by_freq=False, sparse=False)
    return [{"layer": "embedding", "name": name, "words": m.num_embeddings, "width": m.embedding_dim}]


def _recurrent(kind):
    def layer(name, m):
        _need(name, m, num_layers=1, bias=True, batch_first=True, bidirectional=False)
        if getattr(m, "proj_size", 0):
            _refuse(f"{name} ({type(m).__name__})", f"proj_size is {m.proj_size}")
        return [{"layer": kind, "name": name, "width": m.hidden_size}]
    return layer


def _attention(name, m, causal):
    _need(name, m, batch_first=True, dropout=0.0, bias_k=None, add_zero_attn=False, _qkv_same_embed_dim=True)
    if m.in_proj_bias is None:
        _refuse(f"{name} (MultiheadAttention)", "it has no bias")
    layer = {"layer": "attention", "name": name, "heads": m.num_heads}
    return [{**layer, "causal": True} if causal else layer]


def _encoder_layer(name, m, causal):
    if m.activation not in (functional.relu, functional.gelu):
        _refuse(f"{name} (TransformerEncoderLayer)", "its activation is neither relu nor gelu")
    part = lambda of: f"{name}.{of}"  # noqa: E731
    activation = "relu" if m.activation is functional.relu else "gelu"
    attention = _attention(part("self_attn"), m.self_attn, causal) + _dropout("", m.dropout1)
    wide = (_linear(part("linear1"), m.linear1) + [{"layer": activation}] + _dropout("", m.dropout)
            + _linear(part("linear2"), m.linear2) + _dropout("", m.dropout2))
    norms = [_layer_norm(part(f"norm{i}"), norm) for i, norm in ((1, m.norm1), (2, m.norm2))]
    around = lambda inside: [{"layer": "residual", "inside": inside}]  # noqa: E731
    if m.norm_first:
        return around(norms[0] + attention) + around(norms[1] + wide)
    return around(attention) + norms[0] + around(wide) + norms[1]


def _encoder(name, m, causal):
    layers = [layer for i, each in enumerate(m.layers) for layer in _encoder_layer(f"{name}.layers.{i}", each, causal)]
    return layers + (_layer_norm(f"{name}.norm", m.norm) if m.norm is not None else [])


PLAIN = lambda kind: lambda name, m: [{"layer": kind}]  # noqa: E731
MODULES = {nn.Linear: _linear, nn.Conv2d: _conv, nn.BatchNorm1d: _batch_norm, nn.BatchNorm2d: _batch_norm,
           nn.LayerNorm: _layer_norm, nn.MaxPool2d: _max_pool, nn.AdaptiveAvgPool2d: _global_average,
           nn.ReLU: PLAIN("relu"), nn.GELU: _gelu, nn.Tanh: PLAIN("tanh"), nn.Dropout: _dropout,
           nn.Flatten: _flatten, nn.Identity: lambda name, m: [], nn.Embedding: _embedding, nn.LSTM: _recurrent("lstm"),
           nn.GRU: _recurrent("gru")}
ATTENDING = {nn.MultiheadAttention: _attention, nn.TransformerEncoderLayer: _encoder_layer,
             nn.TransformerEncoder: _encoder}
#: Functions and methods of tensors without other arguments than the tensor.
FUNCTIONS = {torch.relu: "relu", functional.relu: "relu", "relu": "relu", torch.tanh: "tanh", functional.tanh: "tanh",
             "tanh": "tanh", functional.gelu: "gelu"}
ADDITIONS = (operator.add, operator.iadd, torch.add, "add", "add_")


# ---- The graph of a model ----

class _Reader:
    def __init__(self, model, causal):
        self._causal = causal
        self._modules = dict(model.named_modules())
        try:
            self.graph = fx.Tracer().trace(model)
        except Exception as error:  # noqa: BLE001: whatever the model's forward does with a tracer
            _refuse(type(model).__name__, f"its forward cannot be traced ({error})")
        self._before = {}
        for node in self.graph.nodes:
            inputs = node.all_input_nodes
            self._before[node] = set(inputs).union(*(self._before[each] for each in inputs))

    def net(self):
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        (result,) = (node.args[0] for node in self.graph.nodes if node.op == "output")
        if not isinstance(result, fx.Node):
            _refuse("the model", "it has several results")
        return self._chain(result, inputs[0])

    def _chain(self, node, until):
        """The layers between two values, in order."""
        layers = []
        while node is not until:
            made, node = self._layers(node)
            layers = made + layers
            if node is not until and until not in self._before[node]:
                _refuse(f"'{node}'", "it does not come from the input of its branch")
        return layers

    def _layers(self, node):
        """The layers that make a value, and the value that they make it of."""
        if node.op == "call_module":
            return self._of_module(node, self._modules[node.target])
        if node.op not in ("call_function", "call_method"):
            _refuse(f"'{node}'", f"its value is a {node.op}")
        target, args = node.target, node.args
        if target in ADDITIONS and len(args) == 2:
            return self._of_sum(node, *args)
        if target in FUNCTIONS and len(args) == 1 and set(node.kwargs) <= {"inplace"}:
            return [{"layer": FUNCTIONS[target]}], args[0]
        if target in (operator.mul, torch.mul, "mul") and isinstance(args[1], (int, float)):
            return [{"layer": "scale", "factor": float(args[1])}], args[0]
        if target in (torch.flatten, "flatten") and (args[1:], node.kwargs) in (((1,), {}), ((), {"start_dim": 1})):
            return [{"layer": "flatten"}], args[0]
        if target in (functional.max_pool2d, torch.max_pool2d) and len(args) == 2 and isinstance(args[1], int):
            return [{"layer": "pool", "window": args[1]}], args[0]
        if target in (torch.cat, torch.concat) and (args[1:] == (1,) or node.kwargs.get("dim") == 1):
            return self._of_branches(args[0])
        if target is operator.getitem and isinstance(self._modules.get(args[0].target),
                                                     (nn.MultiheadAttention, nn.LSTM, nn.GRU)) and args[1] == 0:
            return [], args[0]
        _refuse(f"'{node}' ({target if isinstance(target, str) else getattr(target, '__name__', target)})",
                "there is no such layer")

    def _of_module(self, node, module):
        name, kind = node.target, type(module)
        if kind in ATTENDING:
            if kind is nn.MultiheadAttention and len(set(node.args[:3])) != 1:
                _refuse(f"{name} (MultiheadAttention)", "queries, keys and values are different")
            return ATTENDING[kind](name, module, self._causal), node.args[0]
        if kind not in MODULES or len(node.args) != 1:
            _refuse(f"{name} ({kind.__name__})", "there is no such layer")
        return MODULES[kind](name, module), node.args[0]

    def _of_sum(self, node, a, b):
        """A way around, or learned rows for the places of a sequence."""
        for x, rows in ((a, b), (b, a)):
            place = self._place_of(rows)
            if place:
                return [{"layer": "places", "name": place}], x
        if not (isinstance(a, fx.Node) and isinstance(b, fx.Node)):
            _refuse(f"'{node}'", "a constant is added")
        base, inside = (a, b) if a in self._before[b] else (b, a)
        if base not in self._before[inside]:
            _refuse(f"'{node}'", "it adds two branches; one of them must be the other's input")
        return [{"layer": "residual", "inside": self._chain(inside, base)}], base

    def _place_of(self, node):
        """NAME where a value is NAME.weight as it stands, or all rows of an embedding NAME."""
        if not isinstance(node, fx.Node) or any(each.op == "placeholder" for each in self._before[node]):
            return None
        if node.op == "get_attr" and str(node.target).endswith(".weight"):
            return node.target[:-len(".weight")]
        return node.target if node.op == "call_module" and type(self._modules[node.target]) is nn.Embedding else None

    def _of_branches(self, parts):
        shared = set.intersection(*(self._before[part] for part in parts))
        base = next((node for node in reversed(self.graph.nodes) if node in shared), None)
        if base is None:
            _refuse("cat", "its parts have no common input")
        return [{"layer": "branches", "branches": [self._chain(part, base) for part in parts]}], base


def _outputs(model, shape, tokens):
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return model(torch.zeros(1, *shape, dtype=torch.long if tokens else torch.float32)).shape[-1]
    finally:
        model.train(was_training)


def export(model: nn.Module, file: str | os.PathLike[str], *, shape: Sequence[int], tokens: int | None = None,
           task: str | None = None, causal: bool = False, name: str | None = None) -> tuple[dict[str, Any], pathlib.Path]:
    """Writes a model as a net of the library's trainer: FILE.json, and its weights as FILE.safetensors.

    model    a module whose forward is a chain of layers (docs/nets.md): Sequential, or a class of one's own that
             torch.fx can trace, with additions of a value to what layers make of it, and MultiheadAttention or
             TransformerEncoderLayer of a sequence to itself
    file     "net.json"
    shape    of an example: (channels, height, width), (numbers,) or (length,) for tokens
    tokens   how many there are, for nets of tokens
    task     "images" or "text"; by default as tokens say
    causal   whether attention sees earlier places alone: in PyTorch a mask that is given with each call

    Returns (net, weights): the dictionary and the second file's path, which ulplab.train, ulplab.gradients and
    `ulplab train --net FILE.json --weights FILE.safetensors` take. In the same arithmetic the trainer's gradients have the
    bits of ulplab.torch.emulate's.

    NotImplementedError that names what the nets cannot express. DataError where shapes do not fit.
    """
    if not isinstance(model, nn.Sequential) and type(model) in {**MODULES, **ATTENDING}:
        _refuse(type(model).__name__, "it is a single layer; give torch.nn.Sequential(model)")
    path = pathlib.Path(file)
    if path.suffix != ".json":
        raise ValueError(f"the net's file is {path}; its name must end in .json")
    given = {"shape": list(shape), **({"tokens": tokens} if tokens else {})}
    net = {"name": name or path.stem, "task": task or ("text" if tokens else "images"), "input": given,
           "outputs": _outputs(model, shape, tokens), "layers": _Reader(model, causal).net()}
    text = _core.checked_net(json.dumps(net))
    weights = path.with_suffix(".safetensors")
    _core.write_weights(str(weights), {key: value.detach().numpy() for key, value in model.state_dict().items()
                                       if not key.endswith("num_batches_tracked")})
    path.write_text(text)
    return json.loads(text), weights
