"""Arrays of other kinds as NumPy's, and results back: the kind that goes in comes out.

NumPy arrays stay what they are. CPU tensors of PyTorch share their memory with the NumPy array that is made of them. Of
bfloat16, FP8 and packed FP4, which NumPy lacks, numbers go through float32 where only NumPy's own types do, or where
ml_dtypes is missing. Whatever has ``__dlpack__`` or ``__array__`` is read as an array; its results are NumPy's.
"""

import operator
import sys

import numpy

from . import _core

PAIRS = "float4_e2m1fn_x2"  # PyTorch's type of bytes that hold two codes of FP4


def _torch():
    """PyTorch, if this process has imported it: only then can a tensor have come in."""
    return sys.modules.get("torch")


def is_tensor(x):
    torch = _torch()
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def _low_type(x):
    """ml_dtypes' type of a tensor's numbers, where NumPy itself has none; else None. Packed FP4's is float4_e2m1fn."""
    name = str(x.dtype).removeprefix("torch.")
    if not name.startswith(("bfloat16", "float8_", "float4_")):
        return None
    try:
        import ml_dtypes
    except ImportError:
        return None
    return numpy.dtype(getattr(ml_dtypes, name.removesuffix("_x2")))


def _of_tensor(x, name, low_types):
    torch = _torch()
    if x.device.type != "cpu":
        raise TypeError(f"{name} is on {x.device}; ulplab computes on the CPU: give {name}.cpu()")
    if x.layout is not torch.strided:
        raise TypeError(f"{name} has layout {x.layout}; give {name}.to_dense()")
    x = x.detach()
    low = _low_type(x) if low_types else None
    if str(x.dtype) == "torch." + PAIRS:
        codes = _core.with_halves(x.contiguous().view(torch.uint8).numpy(), True)
        return codes.view(low) if low is not None else _core.decode(codes, "e2m1")
    if low is not None:
        return x.view(torch.int16 if low.itemsize == 2 else torch.uint8).numpy().view(low)
    if x.dtype is torch.bfloat16 or str(x.dtype).startswith("torch.float8"):
        return x.float().numpy()
    return x.resolve_neg().resolve_conj().numpy()


def array_of(x, name="x", low_types=False):
    """``x`` as a NumPy array, without a copy where that is possible. low_types: bfloat16, FP8 and FP4 of tensors become
    ml_dtypes' types, else float32.

    TypeError: a tensor that is not on the CPU, or objects that are no numbers.
    """
    if type(x) is numpy.ndarray:
        array = x
    elif is_tensor(x):
        array = _of_tensor(x, name, low_types)
    elif isinstance(x, numpy.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; give {name}.filled(...)")
    elif hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        try:
            array = numpy.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError) as error:
            if _torch() is None:
                raise TypeError(f"{name} is of a type or on a device that NumPy does not read through DLPack ({error}); "
                                "import torch, which reads more") from None
            array = _of_tensor(_torch().from_dlpack(x), name, low_types)
    else:
        array = numpy.asarray(x)
    if array.dtype.kind == "O" and array.size and all(type(each) is int for each in array.flat):
        exact = array.astype(numpy.float64)
        if (exact == array).all():
            return exact
        raise ValueError(f"{name} holds integers of more than 64 bits that float64 does not have; give float(...) of them")
    if array.dtype.kind == "O":
        raise TypeError(f"{name} holds Python objects; give an array of numbers")
    return array


def numbers_of(x, name="x"):
    """The same for numbers alone. Integers of Python are int64, exact; booleans and what int64 does not hold float64."""
    if type(x) is float:
        return numpy.array(x)
    array = array_of(x, name, low_types=True)
    if array is not x and array.dtype.kind in "ub" and not is_tensor(x) and not isinstance(x, numpy.generic):
        if array.dtype.kind == "u" and (array.astype(numpy.float64).astype(array.dtype) != array).any():
            raise ValueError(f"{name} holds integers of 64 bits that float64 does not have; give float(...) of them")
        array = array.astype(numpy.float64)
    return array


def is_of_python(x):
    """Whether a value is a number or a list of Python's, which has no type of its own."""
    return isinstance(x, (int, float, list, tuple))


def real(x, name):
    """A float, or None for None. TypeError that names the argument."""
    try:
        return None if x is None else float(x)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {x!r}; give a number") from None


def natural(x, name):
    """An integer from 0 to 2^64 - 1, or None for None. TypeError or ValueError that names the argument."""
    if x is None:
        return None
    try:
        number = operator.index(x)
    except TypeError:
        raise TypeError(f"{name} is {x!r}; give an integer") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"{name} is {number}; give an integer from 0 to 2^64 - 1")
    return number


def text(x, name):
    """A text. TypeError that names the argument."""
    if not isinstance(x, str):
        raise TypeError(f"{name} is {x!r}; give a name")
    return x


def like(result, *given):
    """``result``, a NumPy array, as a tensor if one of ``given`` is one."""
    for x in given:
        if is_tensor(x):
            torch = _torch()
            low = None if result.dtype.isbuiltin == 1 else result.dtype.name  # a type of ml_dtypes
            if result.dtype.kind == "u" and not hasattr(torch, str(result.dtype)):
                return result  # PyTorch before 2.3 has no such words
            if low:
                result = result.view(numpy.int16 if result.itemsize == 2 else numpy.uint8)
            if not result.flags.writeable or any(stride < 0 for stride in result.strides):
                result = result.copy()
            if low == "float4_e2m1fn":
                low, result = PAIRS, _core.with_halves(result, False)
            tensor = torch.from_numpy(result)
            return tensor.view(getattr(torch, low)) if low else tensor
    return result


def straight_through(x, function):
    """function(x) of a tensor that needs gradients: the gradient of the result is x's, where the result has numbers of a
    type that can have one. Else function(x)."""
    torch = _torch()
    if not (is_tensor(x) and x.requires_grad and torch.is_grad_enabled()):
        return function(x)

    class StraightThrough(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return function(x.detach())

        @staticmethod
        def backward(context, gradient):
            return gradient.to(x.dtype)

    return StraightThrough.apply(x)
