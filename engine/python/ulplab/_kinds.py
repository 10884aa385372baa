"""Arrays of other kinds as NumPy's, and results back: the kind that goes in comes out.

NumPy arrays stay what they are. CPU tensors of PyTorch share their memory with the NumPy array that is made of them
(but for bfloat16, which NumPy lacks: its numbers go through float32). Whatever has ``__dlpack__`` or ``__array__`` is
read as an array; its results are NumPy's.
"""

import sys

import numpy


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
