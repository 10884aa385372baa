"""What the types of tensors are under a recipe: they stay float32 and carry numbers of a low format. A question for a type,
and a cast, are those of the user's code: they are answered and done as if the type were the format's."""

import sys

import torch

_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


class _Rounded(torch.autograd.Function):
    """A cast to the low format; its gradient goes through as it is."""

    @staticmethod
    def forward(ctx, x, run):
        y = x.detach().clone()
        run.mark(y, 0)
        run.rounding.result(y, (x,), run.where("to", run.module()))
        return y

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def _low(run):
    """The type that the recipe's format is, or None, also in an optimizer of fp32 masters, whose types are its own."""
    return None if run.by_types or run.stepping and not run.kept_throughout else _DTYPES.get(run.low)


def carried(run, x):
    """The type of a tensor as its code would see it on a card."""
    low = _low(run)
    if low is None or x.dtype is not torch.float32 or run.is_marked(x):
        return x.dtype
    if isinstance(x, torch.nn.Parameter) and not run.kept_throughout:
        return x.dtype
    return low if run.is_inside(x) else x.dtype


def dtype_of(run, func, x):
    """x.dtype, asked by code that is not PyTorch's own."""
    asking = sys._getframe(2).f_globals.get("__name__", "")
    return x.dtype if asking.startswith(("torch.", "ulplab.")) else carried(run, x)


def _wanted(run, args, kwargs):
    """The type among the arguments of a cast."""
    for each in (*args, kwargs.get("dtype"), kwargs.get("other")):
        if isinstance(each, torch.dtype):
            return each
        if isinstance(each, torch.Tensor):
            return carried(run, each)
    return None


def _to(run, func, x, type, call):
    low = _low(run)
    if low is None or x.dtype is not torch.float32 or type not in (low, torch.float32):
        return call()
    if type is low:
        return _Rounded.apply(x, run)
    y = call()
    return run.mark(x.view_as(x) if y is x else y, run.KEPT)


def to(run, func, x, *args, **kwargs):
    return _to(run, func, x, _wanted(run, args, kwargs), lambda: func(x, *args, **kwargs))


def _named(type):
    return lambda run, func, x, *args, **kwargs: _to(run, func, x, type, lambda: func(x, *args, **kwargs))


def made(run, func, *args, **kwargs):
    """A new tensor of the low type carries it, too."""
    if kwargs.get("dtype") is not None and kwargs["dtype"] is _low(run):
        y = func(*args, **{**kwargs, "dtype": torch.float32})
        return y if y.requires_grad else _Rounded.apply(y, run)
    return func(*args, **kwargs)


HANDLERS = {torch.Tensor.dtype.__get__: dtype_of, torch.Tensor.to: to, torch.Tensor.type_as: to,
            torch.Tensor.float: _named(torch.float32), torch.Tensor.half: _named(torch.float16),
            torch.Tensor.bfloat16: _named(torch.bfloat16),
            **{each: made for each in (
                torch.zeros, torch.ones, torch.full, torch.empty, torch.arange, torch.tensor, torch.zeros_like, torch.ones_like,
                torch.full_like, torch.empty_like, torch.Tensor.new_zeros, torch.Tensor.new_ones, torch.Tensor.new_full,
                torch.Tensor.new_empty, torch.Tensor.new_tensor, torch.randn, torch.rand, torch.linspace)}}
