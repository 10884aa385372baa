"""What emulation does above autograd: PyTorch's functions as the user's code calls them."""

import types
import warnings

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from . import _autocast, _carried_types
from ._attention import as_written, attention, fused_attention, tiled_attention
from ._engine_operations import rms_norm
from ._private import compiled_runs


class Functions(TorchFunctionMode):
    """Sees the calls of an emulation's block. ``run`` is the emulation."""

    def __init__(self, run):
        super().__init__()
        self._run = run

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        run = self._run
        if run._paused or not run.is_innermost():
            return func(*args, **kwargs)
        if not run.compiled and compiled_runs():
            run.compiled = True
            warnings.warn("torch.compile compiles nothing inside emulate: the callable runs as it is written, with the results of "
                          "eager mode; call it outside of the block to have it compiled", stacklevel=2)
        if torch.is_autocast_enabled("cuda"):
            args, kwargs = _autocast.cast(getattr(func, "__name__", ""), args, kwargs)
        elif run.by_types and run.has_fp32:
            args, kwargs = run.one_type(getattr(func, "__name__", ""), args, kwargs)
        handler = HANDLERS.get(func)
        return func(*args, **kwargs) if handler is None else handler(run, func, *args, **kwargs)


def _linear(run, func, x, weight, bias=None):
    """One product with its bias, whatever the dimensions and strides of x."""
    if x.dim() <= 2:
        return func(x, weight, bias)
    rows = x.reshape(-1, x.shape[-1])
    return func(rows, weight, bias).reshape(*x.shape[:-1], weight.shape[0])


def _bilinear(run, func, a, b, weight, bias=None):
    """By the products that PyTorch's kernel makes of it, two for each output."""
    x, y = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1], 1)
    d = torch.cat([torch.bmm(torch.mm(x, w).unsqueeze(1), y).reshape(-1, 1) for w in weight], 1)
    d = d.reshape(*a.shape[:-1], len(weight))
    return d if bias is None else d + bias


def _fourier(run, func, x, *args, **kwargs):
    """PyTorch on the CPU has no transforms of float16, and says no more than that."""
    if x.dtype is torch.float16:
        raise NotImplementedError(f"emulate does not transform float16 tensors ({func.__name__}): give it x.float(), and "
                                  "emulate strict=False; PyTorch then computes it in fp32, and it is listed in the report")
    return func(x, *args, **kwargs)


#: PyTorch's own code, which does not ask again who sees its functions.
_run_backward, _run_grad = (types.FunctionType(f.__code__, {**vars(torch.autograd), "has_torch_function": lambda _: False},
                                               f.__name__, f.__defaults__) for f in (torch.autograd.backward, torch.autograd.grad))
_run_grad.__kwdefaults__ = torch.autograd.grad.__kwdefaults__


def run_backward(run, func, tensors, grad_tensors=None, retain_graph=None, create_graph=False, *args, **kwargs):
    """Inside the mode that sees its calls: a checkpoint computes its forward pass again there."""
    with run.passes.of_autograd(create_graph), run._functions:
        return _run_backward(tensors, grad_tensors, retain_graph, create_graph, *args, **kwargs)


def _tensor_backward(run, func, x, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    if torch.autograd.backward in HANDLERS:
        return run_backward(run, None, x, gradient, retain_graph, create_graph, inputs=inputs)
    with run.passes.of_autograd(create_graph), torch.no_grad():  # a search has put its own around it
        return torch.autograd.backward(x, gradient, retain_graph, create_graph, inputs=inputs)


def _grad(run, func, outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, *args, **kwargs):
    with run.passes.of_autograd(create_graph), run._functions:
        return _run_grad(outputs, inputs, grad_outputs, retain_graph, create_graph, *args, **kwargs)


def _attention(run, func, *args, **kwargs):
    """By types PyTorch's own, whose products are fused where no weights are asked for; else the trainer's."""
    if not run.by_types:
        return attention(run._functions, func, *args, **kwargs)
    with run._functions:
        return as_written(*args, **kwargs)


def _sdpa(run, func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Attention as a fused kernel computes it, where the tensors' types decide: scores and softmax in fp32."""
    if run.attention is not None and not run.in_fp32():
        return tiled_attention(run, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    if not run.by_types or query.dtype not in (torch.float16, torch.bfloat16):
        return func(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    return fused_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


HANDLERS = {**_carried_types.HANDLERS, functional.scaled_dot_product_attention: _sdpa, functional.rms_norm: rms_norm,
            functional.linear: _linear, functional.bilinear: _bilinear, functional.multi_head_attention_forward: _attention,
            **{getattr(torch.fft, name): _fourier for name in dir(torch.fft) if name.endswith(("fft", "fft2", "fftn"))},
            torch.Tensor.backward: _tensor_backward, torch.autograd.backward: run_backward, torch.autograd.grad: _grad}
