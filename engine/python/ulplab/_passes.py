"""To which module and pass a matrix product belongs, and which of its operands is a gradient."""

import contextlib
from collections import OrderedDict
from typing import NamedTuple

import torch

from . import _private

FORWARD, DGRAD, WGRAD = 0, 1, 2
PASSES = ("forward", "input gradient", "weight gradient")
NO_SIDE, SIDE_A, SIDE_B = 0, 1, 2
MOST_KEPT = 4096  # operands of forward products that are remembered until their backward pass


def _place(tensor):
    return tensor.untyped_storage().data_ptr()


class Purpose(NamedTuple):
    """What a product is for: counted under the module, computed as the layer (whose weight it reads, or the module)."""

    module: str
    layer: str
    which: int
    gradient: int


class Passes:
    """Remembers the operands of forward products: a backward product reads one of them."""

    def __init__(self):
        self.runs = []  # of autograd's engine, one inside the other: whether each makes a graph
        self.module_again = False  # whether a checkpoint's module computes again, also where it switches gradients off
        self.layers = OrderedDict()  # linear layers by the place of their weights: (name, weight)
        self._kept = OrderedDict()
        self._sources = OrderedDict()
        self._latest = None  # (place, source, result's storage) of the latest result that has no backward pass
        self._gradients = {}
        self.marks = {}  # of tensors that a checkpoint has kept, by place and shape: how, whether a parameter, the storage

    @contextlib.contextmanager
    def of_autograd(self, makes_graph):
        """Autograd runs inside."""
        self.runs.append(bool(makes_graph))
        try:
            yield
        finally:
            self.runs.pop()
            if not self.runs:
                self.clear()

    @property
    def backward(self):
        """Whether what runs belongs to a backward pass."""
        return bool(self.runs) and not self.recomputing

    @property
    def recomputing(self):
        """Whether a checkpoint computes a forward pass again: autograd itself has switched gradients off."""
        return bool(self.runs) and (self.module_again or not self.runs[-1] and torch.is_grad_enabled())

    def clear(self):
        self.marks.clear()
        self._kept.clear()
        self._sources.clear()
        self._gradients.clear()
        self._latest = None

    def add_layers(self, model):
        """Takes the model's linear layers, in its order; whether there was a new one."""
        before = len(self.layers)
        for name, each in model.named_modules():
            if isinstance(each, torch.nn.Linear):
                self.layers.setdefault(_place(each.weight), (name or type(each).__name__, each.weight))
            elif isinstance(each, torch.nn.MultiheadAttention) and each.in_proj_bias is not None \
                    and each.in_proj_weight is not None:
                self.layers.setdefault(_place(each.in_proj_weight),
                                       (f"{name}.in_proj".lstrip("."), each.in_proj_weight))
        return len(self.layers) > before

    def layer_of(self, weight, module):
        return self.layers.get(_place(weight), (module, None))[0]

    def remember(self, tensor, module, layer, side):
        if self.backward or not torch.is_grad_enabled():
            return
        self._kept.setdefault(_place(tensor), []).append((module, layer, side, tensor.untyped_storage()))
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def keep_source(self, result, source):
        """What a result was computed from, for its backward pass, which PyTorch gives the result alone."""
        if self.backward:
            return
        if not torch.is_grad_enabled():
            self._latest = (_place(result), source, result.untyped_storage())
            return
        self._sources[_place(result)] = (source, result.untyped_storage())
        if len(self._sources) > MOST_KEPT:
            self._sources.popitem(last=False)

    def source_of(self, result):
        if self._latest is not None and self._latest[0] == _place(result):
            return self._latest[1]
        found = self._sources.get(_place(result))
        return None if found is None else found[0]

    def keep_gradient(self, of_result, of_source):
        """The gradient of a result, and that of its source, computed at once."""
        self._gradients[_place(of_result)] = (of_source, of_result._version, of_result.untyped_storage())

    def gradient_behind(self, of_result):
        """The gradient of the source, where it was computed with that of the result, unchanged since; else None."""
        found = self._gradients.pop(_place(of_result), None)
        return found[0] if found is not None and found[1] == of_result._version else None

    def of_forward(self, a, b, module):
        """The purpose of a forward product, which is remembered."""
        layer = self.layer_of(b, None) or self.layer_of(a, module)
        self.remember(a, module, layer, SIDE_A)
        self.remember(b, module, layer, SIDE_B)
        return Purpose(module, layer, FORWARD, NO_SIDE)

    def module_of(self, tensor):
        """The module whose forward product last read the tensor, or None."""
        records = self._kept.get(_place(tensor))
        return records[-1][0] if records else None

    def purpose(self, a, b, module):
        """Of a product that is computed inside ``module``."""
        if not self.backward:
            return self.of_forward(a, b, module)
        of_a, of_b = (self._kept.get(_place(x)) for x in (a, b))
        records, gradient = (of_b, SIDE_A) if of_b else (of_a, SIDE_B)
        if not records:
            # A checkpoint computes again up to its last product, whose operands nobody has seen then.
            sizes, by_columns = _private.second_factor()
            if (a.shape[-2], b.shape[-1]) in (sizes, sizes[::-1]):
                return Purpose(module, module, WGRAD, SIDE_A if by_columns else SIDE_B)
            return Purpose(module, module, DGRAD, SIDE_A)
        # Layers that share an input meet it in reverse order on the way back.
        module, layer, side, _ = records[-1]
        if len(records) > 1 and side == SIDE_A:
            records.insert(0, records.pop())
        return Purpose(module, layer, WGRAD if side == SIDE_A else DGRAD, gradient)
