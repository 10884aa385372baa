"""Normalisations, softmax, functions and sums by the trainer's own operations: every step rounded as the recipe says.

``run`` is the emulation. A handler that cannot compute a case (another dimension, another type) gives NotImplemented:
PyTorch then computes it, and its result is rounded.
"""

import math

import torch

from . import _core

#: The trainer's operation for each of PyTorch's, by its name in aten.
NAMES = {"native_layer_norm": "layer_norm", "native_group_norm": "group_norm", "_softmax": "softmax",
         "_log_softmax": "log_softmax", "gelu": "gelu", "silu": "silu", "tanh": "tanh", "sigmoid": "sigmoid",
         "rms_norm": "rms_norm",
         "nll_loss_forward": "cross_entropy"}


def _as_seen(run, x):
    """A parameter as the model sees it."""
    return (run.rounding.vector(x) if run.low != "fp32" and isinstance(x, torch.nn.Parameter) else x.detach()
            ).contiguous().numpy()


def _operate(run, aten, inputs, numbers=(), of_result=None):
    """The result's, or the inputs' gradients'; those in fp32 are marked where the recipe's format is another one. Inputs
    in the recipe's format are cast by the operation, as the recipe says, and their gradients back to it."""
    single = [run.low == "fp32" or run.is_marked(x) for x in inputs]
    found, overflows, underflows = run.products.operate(
        NAMES[aten], [_as_seen(run, x) for x in inputs], single, list(numbers),
        None if of_result is None else of_result.detach().contiguous().numpy())
    module = run.module()
    counts = run.rounding.counts(module)
    counts.overflows += overflows
    counts.underflows += underflows
    tensors = []
    for array, is_fp32 in found:
        tensor = torch.from_numpy(array)
        counts.rounded += tensor.numel()
        if is_fp32 and run.low != "fp32":
            run.mark(tensor)
        tensors.append(tensor)
        run.rounding.look(tensor, inputs if of_result is None else (of_result, *inputs), run.where(aten, module))
    return tensors


def _has_fp32(*tensors):
    return all(x is None or (x.dtype is torch.float32 and x.numel() > 0) for x in tensors)


# ---- Functions of one tensor: backward they are computed again from what they were of ----

def _of_source(aten):
    def forward(run, x, *args, **kwargs):
        if not _has_fp32(x) or x.dim() == 0 or _refused(aten, x, args, kwargs):
            return NotImplemented
        y, = _operate(run, aten, [x])
        if aten not in ("gelu", "silu"):  # whose backward passes are given x
            run.passes.keep_source(y, x)
        return y
    return forward


def _refused(aten, x, args, kwargs):
    """Rows in another dimension than the last; the other gelu."""
    if aten in ("_softmax", "_log_softmax"):
        return args[0] not in (-1, x.dim() - 1)
    return kwargs.get("approximate", "none") != "none"


def _safe_softmax(run, x, dim, dtype=None):
    """Rows without any finite score are 0, and so are their gradients: those of a row with one finite score."""
    if dtype not in (None, x.dtype) or x.numel() == 0:
        return NotImplemented
    hidden = x.amax(-1, keepdim=True) == -math.inf
    any_hidden = bool(hidden.any())
    if any_hidden:
        x = x.masked_fill(hidden & (torch.arange(x.shape[-1]) == 0), 0)
    y = _of_source("_softmax")(run, x, dim)
    return y.masked_fill_(hidden, 0) if any_hidden and y is not NotImplemented else y


def _from_result(aten):
    def backward(run, dy, y, *args, **kwargs):
        if (of_loss := run.passes.gradient_behind(dy)) is not None:
            return of_loss
        x = run.passes.source_of(y)
        return NotImplemented if x is None or not _has_fp32(dy) else _operate(run, aten, [x], (), dy)[0]
    return backward


def _gelu_backward(run, dy, x, *, approximate="none"):
    return NotImplemented if approximate != "none" or not _has_fp32(dy, x) else _operate(run, "gelu", [x], (), dy)[0]


def _silu_backward(run, dy, x):
    return NotImplemented if not _has_fp32(dy, x) else _operate(run, "silu", [x], (), dy)[0]


# ---- Cross entropy, which PyTorch takes apart: one operation of what the log-softmax before it was of ----

MEAN, SUM = 1, 2  # PyTorch's numbers of reductions


def _entropy(run, scores, target, weight, reduction, ignored, of_result=None):
    x = run.passes.source_of(scores)
    if x is None or x.dim() != 2 or weight is not None or reduction not in (MEAN, SUM) or (target == ignored).any():
        return None
    return _operate(run, "nll_loss_forward", [x], [reduction == SUM, *target.tolist()], of_result)[0]


def _nll_loss(run, scores, target, weight, reduction, ignored):
    loss = _entropy(run, scores, target, weight, reduction, ignored)
    return NotImplemented if loss is None else (loss, torch.tensor(float(len(target))))


def _nll_loss_backward(run, dy, scores, target, weight, reduction, ignored, total):
    """The log-softmax's own backward pass, which is given this one's result, then has nothing left to compute."""
    dx = _entropy(run, scores, target, weight, reduction, ignored, dy)
    if dx is None:
        return NotImplemented
    ds = torch.ops.aten.nll_loss_backward(dy, scores, target, weight, reduction, ignored, total)
    run.passes.keep_gradient(ds, dx)
    return run.mark(ds)


# ---- Normalisations ----

def _scale_and_shift(x, count, weight, bias):
    """Without parameters: times 1, plus 0."""
    return (torch.ones(count) if weight is None else weight.reshape(-1) if weight.dim() != 1 else weight,
            torch.zeros(count) if bias is None else bias.reshape(-1) if bias.dim() != 1 else bias)


def _moments(x, rows, eps):
    """What PyTorch gives beside the result."""
    x = x.detach().reshape(rows, -1)
    return torch.native_layer_norm(x, x.shape[1:], None, None, eps)[1:]


def _layer_norm(run, x, shape, weight, bias, eps):
    if not _has_fp32(x, weight, bias):
        return NotImplemented
    count = math.prod(shape)
    w, b = _scale_and_shift(x, count, weight, bias)
    y, = _operate(run, "native_layer_norm", [x.reshape(-1, count), w, b], [eps])
    mean, rstd = (each.reshape(*x.shape[:x.dim() - len(shape)], *(1 for _ in shape))
                  for each in _moments(x, x.numel() // count, eps))
    run.passes.keep_source(rstd, eps)
    return _like(run, y, x.shape), mean, rstd


def _like(run, tensor, shape):
    result = tensor.reshape(shape)
    if run.is_marked(tensor):
        run.mark(result)
    return result


def _layer_norm_backward(run, dy, x, shape, mean, rstd, weight, bias, mask):
    eps = run.passes.source_of(rstd)
    if eps is None or not _has_fp32(dy, x, weight, bias):
        return NotImplemented
    count = math.prod(shape)
    w, b = _scale_and_shift(x, count, weight, bias)
    dx, dw, db = _operate(run, "native_layer_norm", [x.reshape(-1, count), w, b], [eps], dy.reshape(-1, count))
    return (_like(run, dx, x.shape) if mask[0] else None, dw.reshape(tuple(shape)) if mask[1] else None,
            db.reshape(tuple(shape)) if mask[2] else None)


def _group_norm(run, x, weight, bias, images, channels, area, groups, eps):
    if not _has_fp32(x, weight, bias):
        return NotImplemented
    w, b = _scale_and_shift(x, channels, weight, bias)
    y, = _operate(run, "native_group_norm", [x.reshape(images, channels, area), w, b], [groups, eps])
    mean, rstd = (each.reshape(images, groups) for each in _moments(x, images * groups, eps))
    run.passes.keep_source(rstd, eps)
    return _like(run, y, x.shape), mean, rstd


def _group_norm_backward(run, dy, x, mean, rstd, weight, images, channels, area, groups, mask):
    eps = run.passes.source_of(rstd)
    if eps is None or not _has_fp32(dy, x, weight):
        return NotImplemented
    w, b = _scale_and_shift(x, channels, weight, None)
    dx, dw, db = _operate(run, "native_group_norm", [x.reshape(images, channels, area), w, b], [groups, eps],
                          dy.reshape(images, channels, area))
    return _like(run, dx, x.shape) if mask[0] else None, dw if mask[1] else None, db if mask[2] else None


class _RmsNorm(torch.autograd.Function):
    """Above autograd: PyTorch takes it apart there."""

    @staticmethod
    def forward(ctx, run, x, weight, eps):
        ctx.run, ctx.eps = run, eps
        ctx.save_for_backward(x, weight)
        y, = _operate(run, "rms_norm", [x.reshape(-1, len(weight)), weight], [eps])
        return _like(run, y, x.shape)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        rows = [each.reshape(-1, len(weight)) for each in (x, dy)]
        dx, dw = _operate(ctx.run, "rms_norm", [rows[0], weight], [ctx.eps], rows[1])
        return None, _like(ctx.run, dx, x.shape), dw, None


def rms_norm(run, func, input, normalized_shape, weight=None, eps=None):
    """torch.nn.functional.rms_norm."""
    if len(normalized_shape) != 1 or weight is None or not _has_fp32(input, weight) or run.by_types:
        return func(input, normalized_shape, weight, eps)
    return _RmsNorm.apply(run, input, weight, torch.finfo(torch.float32).eps if eps is None else eps)


# ---- Sums ----

def _sum(run, x, dim=None, keepdim=False, *, dtype=None):
    """Over the first of the summed elements to the last, in the order of memory."""
    if not _has_fp32(x) or dtype not in (None, torch.float32):
        return NotImplemented
    summed = sorted(d % max(x.dim(), 1) for d in dim) if dim else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in summed]
    rows = x.detach().permute(summed + kept).reshape(math.prod(x.shape[d] for d in summed), -1)
    single = run.is_single("sum", x)
    sums = torch.from_numpy(run.products.sum_rows(rows.contiguous().numpy(), single))
    shape = [1 if d in summed else x.shape[d] for d in range(x.dim())] if keepdim else [x.shape[d] for d in kept]
    result = sums.reshape(shape)
    if single and run.low != "fp32":
        return run.mark(result)
    return run.finish("sum", result, (x,), run.module())


HANDLERS = {"native_layer_norm": _layer_norm, "native_layer_norm_backward": _layer_norm_backward,
            "native_group_norm": _group_norm, "native_group_norm_backward": _group_norm_backward,
            "_safe_softmax": _safe_softmax, "gelu": _of_source("gelu"), "gelu_backward": _gelu_backward,
            "silu": _of_source("silu"),
            "silu_backward": _silu_backward, "sum": _sum,
            "nll_loss_forward": _nll_loss, "nll_loss_backward": _nll_loss_backward,
            **{name: _of_source(name) for name in ("_softmax", "_log_softmax", "tanh", "sigmoid")},
            **{f"{name}_backward_data": _from_result(name) for name in ("_softmax", "_log_softmax")},
            **{f"{name}_backward": _from_result(name) for name in ("tanh", "sigmoid")}}

assert set(NAMES.values()) == set(_core.operation_names())
