"""Results on the grid of a recipe's format, with what rounding did to them by module."""

from collections import OrderedDict

import numpy
import torch

from . import _core
from ._report import Counts


def _dense_array(tensor):
    """A NumPy array of the tensor's memory, in C order whatever the tensor's strides; None where it has gaps."""
    array = tensor.detach().numpy()
    if array.flags.c_contiguous:
        return array
    array = array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    return array if array.flags.c_contiguous else None


def _at(x, place, shape):
    if not isinstance(x, torch.Tensor):
        return x
    return float(x[place]) if tuple(x.shape) == tuple(shape) else x.detach().clone()


class Rounding:
    """Rounds to the format ``low``, in place; counts overflows and underflows; keeps the first value not finite."""

    def __init__(self, low, flush):
        self.low = low
        self._flush = flush
        self.modules = OrderedDict()
        self.first = None
        self._parameters = {}

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
        overflows, underflows, not_finite, _ = _core.round_in_place(array, self.low, self._flush)
        counts = self.counts(where["module"])
        counts.rounded += array.size
        counts.overflows += overflows
        counts.underflows += underflows
        if not_finite:
            self.look(tensor, operands, where)

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
        overflows, underflows, not_finite, _ = _core.round_in_place(array, self.low, self._flush)
        counts = self.counts(where["module"])
        counts.rounded += array.size
        counts.overflows += overflows
        counts.underflows += underflows
        if not_finite:
            self.look(wide, operands, where)
        return wide.detach().to(type)

    def look(self, tensor, operands, where):
        """Notes the first value that is not finite though all operands are."""
        if self.first is not None or tensor.numel() == 0 or torch.isfinite(tensor).all():
            return
        if any(isinstance(x, torch.Tensor) and x.is_floating_point() and not torch.isfinite(x).all() for x in operands):
            return
        array = tensor.detach().numpy()
        place = tuple(int(i) for i in numpy.argwhere(~numpy.isfinite(array))[0])
        self.first = {**where, "element": place, "value": float(array[place]),
                      "operands": [_at(x, place, array.shape) for x in operands
                                   if isinstance(x, (torch.Tensor, int, float))]}

    def parameter(self, parameter):
        """A copy of a parameter, or of a view of one, in the format; a parameter's is made anew when it changes."""
        if not isinstance(parameter, torch.nn.Parameter):
            return self.vector(parameter)
        known = self._parameters.get(id(parameter))
        if known is not None and known[0] == parameter._version:
            return known[1]
        copy = parameter.detach().clone()
        if copy.dim() > 0:
            _core.round_in_place(copy.numpy(), self.low, self._flush)
        self._parameters[id(parameter)] = (parameter._version, copy, parameter)
        return copy

    def vector(self, bias):
        """A bias as the model sees it: in the format."""
        if bias is None or self.low == "fp32":
            return bias
        copy = bias.detach().float().clone(memory_format=torch.contiguous_format)
        _core.round_in_place(copy.numpy(), self.low, self._flush)
        return copy
