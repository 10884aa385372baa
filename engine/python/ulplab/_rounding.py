"""Results on the grid of a recipe's format, with what rounding did to them by module."""

import math
from collections import OrderedDict

import numpy
import torch

from . import _core
from ._report import Counts, bare_name, described, remedy_of


def _dense_array(tensor):
    """A NumPy array of the tensor's memory, in C order whatever the tensor's strides; None where it has gaps."""
    array = tensor.detach().numpy()
    if array.flags.c_contiguous:
        return array
    array = array.transpose(_axes(array))
    return array if array.flags.c_contiguous else None


def _axes(array):
    """The extents, the one with the largest stride first."""
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


def _place(tensor, at):
    """The element that is the at-th in the tensor's memory."""
    axes = _axes(tensor.detach().numpy())
    found = dict(zip(axes, numpy.unravel_index(at, [tensor.shape[axis] for axis in axes])))
    return tuple(int(found[axis]) for axis in range(tensor.dim()))


def _tensors(operands):
    for x in operands:
        if isinstance(x, (list, tuple)):
            yield from _tensors(x)
        elif isinstance(x, torch.Tensor) and x.is_floating_point():
            yield x.detach()


def _is_finite(tensor):
    if tensor.numel() == 0 or tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        return True
    return all(math.isfinite(x) for x in torch.aminmax(tensor))  # NaN is both


class Rounding:
    """Rounds to the format ``low``, in place; counts overflows and underflows; keeps the first value not finite."""

    def __init__(self, low, flush, locate=lambda where: {**where, "line": None}):
        """locate: adds the user's line to a result's "module", "pass", ..."""
        self._locate = locate
        self.low = low
        self._flush = flush
        self.modules = OrderedDict()
        self.first = None

    def counts(self, module):
        counts = self.modules.get(module)
        if counts is None:
            counts = self.modules[module] = Counts()
        return counts

    def result(self, tensor, operands, where):
        """A result of an operation. where: its "module", "pass", "step" and "operation"."""
        if self.low == "fp32" or tensor.dim() == 0 or tensor.numel() == 0:
            self.look(tensor, operands, where)
            return
        array = _dense_array(tensor)
        if array is None:
            copy = tensor.detach().contiguous()
            self.result(copy, operands, where)
            tensor.detach().copy_(copy)
            return
        self._round(array, tensor, operands, where)

    def _round(self, array, tensor, operands, where):
        """The tensor's numbers, which lie in the array."""
        counts = self.counts(where["module"])
        overflows, underflows, not_finite, largest, at, before = _core.round_in_place(array, self.low, self._flush)
        counts.rounded += array.size
        counts.overflows += overflows
        counts.underflows += underflows
        if self.first is not None:
            return
        if not_finite:
            self.look(tensor, operands, where, (_place(tensor, at), before))
        elif largest > counts.largest:
            counts.largest = largest

    def narrowed(self, wide, type, operands, where):
        """A result in fp32, which may be changed, as a tensor of a low type."""
        if wide.dim() == 0:
            wide = wide.reshape(1)
            return self.narrowed(wide, type, operands, where).reshape(())
        if wide.numel() == 0:
            return wide.to(type)
        array = _dense_array(wide)
        if array is None or not array.flags.writeable:
            wide = wide.detach().contiguous().clone()
            array = wide.numpy()
        self._round(array, wide, operands, where)
        return wide.detach().to(type)

    def look(self, tensor, operands, where, found=None):
        """Notes the first value that is not finite though all operands are (or NaN, though none is). found: the first
        NaN's place, or the first infinity's, and the number there before it was rounded."""
        if self.first is not None or tensor.numel() == 0 or not tensor.is_cpu or tensor.layout is not torch.strided:
            return
        tensor = tensor.detach()
        if _is_finite(tensor):
            return
        has_nan = bool(torch.isnan(tensor).any())
        if where["operation"].startswith("log") and not has_nan and not any(
                x.requires_grad or x.dtype is not torch.float32 for x in operands if isinstance(x, torch.Tensor)):
            return  # log(0) of a table in fp32 is -inf there, too; what it leads to is looked at
        for x in _tensors(operands):
            if torch.isnan(x).any() if has_nan else not _is_finite(x):
                return
        if found is None:
            wanted = torch.isnan(tensor) if has_nan else ~torch.isfinite(tensor)
            found = tuple(int(i) for i in torch.nonzero(wanted)[0]) if tensor.dim() else (), None
        place, exact = found
        first = {**self._locate(where), "element": place, "value": float(tensor[place]),
                 "operands": described(operands, place, tensor.shape),
                 "exact": exact,
                 "before": {name: each.largest for name, each in self.modules.items() if each.largest}}
        first["operation"] = bare_name(first["operation"])
        first["remedy"] = remedy_of(first, self.low)
        self.first = first

    def vector(self, bias):
        """A copy of a parameter, or of a view of one, in the format. It is made at each use: a change by way of .data, or of
        NumPy, leaves no mark. Numbers without extents stay as they are."""
        if bias is None or self.low == "fp32" or bias.dim() == 0:
            return bias
        copy = bias.detach().float().clone(memory_format=torch.contiguous_format)
        _core.round_in_place(copy.numpy(), self.low, self._flush)
        return copy
