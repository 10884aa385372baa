"""Self-attention in the layout and order of the trainer's (engine/layers/attention.hpp): examples, then places."""

import inspect
import math
import types

import numpy
import torch
from torch.nn import functional

from . import _core
from ._agreement import attention as by_tiles

_original = functional.multi_head_attention_forward
_parameters = inspect.signature(_original)
#: PyTorch's own code, which does not ask again who sees its functions.
as_written = types.FunctionType(_original.__code__, {**vars(functional), "has_torch_function": lambda _: False},
                                _original.__name__, _original.__defaults__)


def _fits(a):
    """Whether a call is of a sequence of examples to itself, without what the trainer has not."""
    mask = a["attn_mask"]
    return (a["query"] is a["key"] and a["key"] is a["value"] and a["query"].dim() == 3 and not a["add_zero_attn"]
            and a["key_padding_mask"] is None and all(a[name] is None for name in ("bias_k", "bias_v", "static_k", "static_v"))
            and a["in_proj_bias"] is not None and not a["use_separate_proj_weight"]
            and (a["dropout_p"] == 0 or not a["training"]) and (mask is None or mask.dim() == 2))


def attention(functions, original, *args, **kwargs):
    """torch.nn.functional.multi_head_attention_forward: of a sequence to itself as here, inside the mode that sees its
    functions; else as PyTorch has it."""
    bound = _parameters.bind(*args, **kwargs)
    bound.apply_defaults()
    a = bound.arguments
    if not _fits(a):
        y, weights = original(**{**a, "need_weights": True})  # else by a kernel that hides its products
        return y, weights if a["need_weights"] else None
    with functions:
        return _of_itself(a)


def _of_itself(a):
    time, batch, width = a["query"].shape  # PyTorch's order of extents here
    heads, each = a["num_heads"], width // a["num_heads"]

    def split(x):
        return x.reshape(batch, time, heads, each).transpose(1, 2).reshape(batch * heads, time, each)

    def linear(x, weight, bias):
        return functional.linear(x.reshape(-1, width), weight, bias).reshape(batch, time, -1)

    x = a["query"].transpose(0, 1)
    q, k, v = (split(x) for x in linear(x, a["in_proj_weight"], a["in_proj_bias"]).split(width, -1))
    scores = torch.bmm(q * (1 / math.sqrt(each)), k.transpose(1, 2))
    if (mask := a["attn_mask"]) is not None:
        scores = scores.masked_fill(mask, -math.inf) if mask.dtype is torch.bool else scores + mask
    weights = torch.softmax(scores, -1)
    mixed = torch.bmm(weights, v).reshape(batch, heads, time, each).transpose(1, 2).reshape(batch, time, width)
    y = linear(mixed, a["out_proj_weight"], a["out_proj_bias"]).transpose(0, 1)
    if not a["need_weights"]:
        return y, None
    weights = weights.reshape(batch, heads, time, time)
    return y, weights.mean(1) if a["average_attn_weights"] else weights


class _Scores(torch.autograd.Function):
    """query key^T, batched, in fp32: a fused kernel's scores, which it keeps in its accumulators."""

    @staticmethod
    def forward(ctx, query, key):
        ctx.save_for_backward(query, key)
        return _product(query, key.transpose(1, 2))

    @staticmethod
    def backward(ctx, gradient):
        query, key = ctx.saved_tensors
        low = gradient.to(query.dtype)
        return torch.bmm(low, key), torch.bmm(low.transpose(1, 2), query)


def _product(a, b):
    from ._run import active
    return active[-1].unrounded(a, b)


def fused_attention(query, key, value, mask, dropout, is_causal, scale, enable_gqa):
    """softmax(query key^T scale + mask) value: scores, softmax and sums in fp32, probabilities rounded to the operands'
    type before the second product, and the result once. Rows that the masks hide are 0, as fused kernels have them."""
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    batch, (rows, width), columns = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2]), query.shape[-2:], key.shape[-2]
    q, k, v = (x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in (query, key, value))
    scores = _Scores.apply(q, k).reshape(*batch, rows, columns) * (1 / math.sqrt(width) if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(torch.ones(rows, columns, dtype=torch.bool).tril().logical_not(), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -math.inf) if mask.dtype is torch.bool else scores + mask.float()
    if (hidden := (scores == -math.inf).all(-1, keepdim=True)).any():
        weights = torch.softmax(scores.masked_fill(hidden, 0), -1).masked_fill(hidden, 0)
    else:
        weights = torch.softmax(scores, -1)
    if dropout:
        weights = torch.dropout(weights, dropout, True)
    weights = weights.to(query.dtype).reshape(-1, rows, columns)
    return torch.bmm(weights, v).reshape(*batch, rows, v.shape[-1])


#: What emulate(..., attention={...}) takes: arguments of ulplab.attention.
TILED = ("tile", "split", "rescale_threshold", "p_format")


def checked_tiling(given):
    """The options of attention= as a dictionary, or None."""
    if given is None:
        return None
    if unknown := sorted(set(given) - set(TILED)):
        raise ValueError(f"attention has {', '.join(unknown)}; there are {', '.join(TILED)}")
    return dict(given)


class _Tiled(torch.autograd.Function):
    """Attention by tiles as ulplab.attention computes it; results are rounded to the recipe's format."""

    @staticmethod
    def forward(ctx, query, key, value, run, how):
        from ._run import paused
        with paused(), torch.no_grad():
            ctx.found = by_tiles(*(x.float().numpy() for x in (query, key, value)), round=True, **how)
            ctx.run, ctx.given = run, (query, key, value)
            return _finished(run, ctx.found.out, ctx.given)

    @staticmethod
    def backward(ctx, gradient):
        from ._run import paused
        with paused(), torch.no_grad():
            found = ctx.found.backward(gradient.float().numpy())
            return (*(_finished(ctx.run, x, ctx.given) for x in found), None, None)


def _finished(run, numbers, operands):
    name, result = "scaled_dot_product_attention", torch.from_numpy(numpy.array(numbers))
    where = run.where(name, run.module())
    if run.by_types:
        result = run._narrow(result, operands[0].dtype, operands, where)
    else:
        result = run.finish(name, result, operands, run.module())
    for each in run.observers:
        each(None, name, where, operands, {}, result)
    return result


def _hides_later_keys(mask, rows, columns):
    seen = torch.ones(rows, columns, dtype=torch.bool).tril()
    return bool(((mask if mask.dtype is torch.bool else mask == 0) == seen).all())


def tiled_attention(run, query, key, value, mask, dropout, is_causal, scale, enable_gqa):
    """scaled_dot_product_attention by the tiles of run.attention, in the products of the emulation's unit."""
    from ._run import paused
    run.attention_used = True
    rows, columns = query.shape[-2], key.shape[-2]
    with paused():
        if mask is not None and _hides_later_keys(mask, rows, columns):
            mask, is_causal = None, True
    if mask is not None or dropout:
        raise NotImplementedError("attention by tiles takes a causal mask or none, and no dropout; leave attention= out, or "
                                  "give sequences of one length without padding, and call the model's eval()")
    backend, format = run.unit_of(query)
    unit = _core.unit_of_backend(backend, format) if format in ("bf16", "fp16") else ""
    if not unit:
        raise ValueError(f"attention by tiles multiplies bf16 or fp16 on a matrix unit; {backend} has no such products of "
                         f"{format}")
    run.rounding.counts(run.module()).multiplications += query[..., 0].numel() * columns * (query.shape[-1] + value.shape[-1])
    return _Tiled.apply(query, key, value, run, {**run.attention, "unit": unit, "causal": is_causal, "scale": scale})
