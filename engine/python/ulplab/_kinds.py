"""Arrays of other kinds as NumPy's, and results back: the kind that goes in comes out.

NumPy arrays stay what they are. CPU tensors of PyTorch share their memory with the NumPy array that is made of them
(but for bfloat16, which NumPy lacks: its numbers go through float32). Whatever has ``__dlpack__`` or ``__array__`` is
read as an array; its results are NumPy's.
"""

import operator
import sys
from typing import Any

import numpy

Array = Any  # a NumPy array, or a CPU tensor of PyTorch where one went in
FormatLike = Any  # a format's name, or a Format


def _torch():
    """PyTorch, if this process has imported it: only then can a tensor have come in."""
    return sys.modules.get("torch")


def is_tensor(x):
    torch = _torch()
    return torch is not None and isinstance(x, getattr(torch, "Tensor", ()))


def array_of(x, name="x"):
    """``x`` as a NumPy array, without a copy where that is possible.

    TypeError: a tensor that is not on the CPU, or objects that are no numbers.
    """
    if type(x) is numpy.ndarray:
        array = x
    elif is_tensor(x):
        torch = _torch()
        if x.device.type != "cpu":
            raise TypeError(f"{name} is on {x.device}; ulplab computes on the CPU: give {name}.cpu()")
        if x.layout is not torch.strided:
            raise TypeError(f"{name} has layout {x.layout}; give {name}.to_dense()")
        x = x.detach()
        array = (x.float() if x.dtype is torch.bfloat16 else x.resolve_neg().resolve_conj()).numpy()
    elif isinstance(x, numpy.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; give {name}.filled(...)")
    elif hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        array = numpy.from_dlpack(x)
    else:
        array = numpy.asarray(x)
    if array.dtype.kind == "O":
        raise TypeError(f"{name} holds Python objects; give an array of numbers")
    return array


def numbers_of(x, name="x"):
    """The same for numbers alone: what is no array (a number, a list) becomes float64 as NumPy has it, but integers
    become float64 too."""
    array = array_of(x, name)
    if array is not x and array.dtype.kind in "iub" and not is_tensor(x) and not isinstance(x, numpy.generic):
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


def like(result, *given):
    """``result``, a NumPy array, as a tensor if one of ``given`` is one."""
    for x in given:
        if is_tensor(x):
            torch = _torch()
            if result.dtype.kind == "u" and result.itemsize > 1:
                return result  # PyTorch 1 and 2.0 to 2.2 have no such words
            if not result.flags.writeable or any(stride < 0 for stride in result.strides):
                result = result.copy()
            tensor = torch.from_numpy(result)
            return tensor
    return result
