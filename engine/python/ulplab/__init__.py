"""ulplab: number formats and matrix units of GPUs, bit for bit as the hardware computes, on any CPU.

    >>> import numpy, ulplab
    >>> ulplab.round(0.1, "e4m3")                                       # to a format, by any rounding
    0.1015625
    >>> a = ulplab.round(numpy.random.rand(64, 64).astype("f4"), "fp16")
    >>> d = ulplab.matmul(a, a, unit="sm_90:wgmma.fp16.fp32")           # a Hopper Tensor Core's product
    >>> ulplab.units("sm_90")                                           # which units there are, and what proves them

Arrays are NumPy's or CPU tensors of PyTorch, and results are of the same kind. The C++ library computes everything, with
the bits of the program `ulplab`; docs/python.md is the guide. help(ulplab.matmul), and so on, says what a function takes:

    numbers     round, encode, decode, show, format, formats; exp, log, tanh and the others of functions(); evaluate;
                add, subtract, multiply, divide, fma, sqrt, remainder, next_up, next_down, compare, with Flags
    blocks      quantize, dequantize, quantizations
    products    matmul, dot, units, unit, Order
    questions   explain, bound, discover, inspect, recordings
    training    train, gradients, nets
    PyTorch     ulplab.torch (import it): emulate, GradScaler, quantize_, compare, export

Bad input: TypeError for types, ValueError for names, shapes and numbers, DataError (a ValueError) for files.
"""

from ._core import BitsDiffer, DataError, __version__
from . import _analysis, _numbers, _products, _training
from ._analysis import *  # noqa: F403
from ._numbers import *  # noqa: F403
from ._numbers import format, round  # noqa: F401  (a star import leaves Python's own)
from ._products import *  # noqa: F403
from ._training import *  # noqa: F403

DataError.__module__ = BitsDiffer.__module__ = __name__
DataError.__doc__ = "A file that is missing, cut short or malformed. The message names the file and the remedy."
BitsDiffer.__doc__ = "Two computations that must agree bit for bit do not."

__all__ = ["BitsDiffer", "DataError"] + _numbers.__all__ + _products.__all__ + _analysis.__all__ + _training.__all__
