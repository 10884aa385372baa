"""To which module and pass a matrix product belongs, and which of its operands is a gradient."""

from collections import OrderedDict

import torch

FORWARD, DGRAD, WGRAD = 0, 1, 2
PASSES = ("forward", "input gradient", "weight gradient")
NO_SIDE, SIDE_A, SIDE_B = 0, 1, 2
MOST_KEPT = 4096  # operands of forward products that are remembered until their backward pass


class Passes:
    """Remembers the operands of forward products: a backward product reads one of them."""

    def __init__(self):
        self.backward = 0  # runs of autograd's engine, one inside the other
        self._kept = OrderedDict()

    def clear(self):
        self._kept.clear()

    def remember(self, tensor, module, side):
        if self.backward or not torch.is_grad_enabled():
            return
        storage = tensor.storage()
        self._kept.setdefault(storage.data_ptr(), []).append((module, side, storage))
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def module_of(self, tensor):
        """The module whose forward product last read the tensor, or None."""
        records = self._kept.get(tensor.storage().data_ptr())
        return records[-1][0] if records else None

    def purpose(self, a, b, module):
        """(module, pass, which operand is dy) of a product that is computed inside ``module``."""
        if not self.backward:
            self.remember(a, module, SIDE_A)
            self.remember(b, module, SIDE_B)
            return module, FORWARD, NO_SIDE
        of_a, of_b = (self._kept.get(x.storage().data_ptr()) for x in (a, b))
        records, gradient = (of_b, SIDE_A) if of_b else (of_a, SIDE_B)
        if not records:
            return module, DGRAD, SIDE_A
        # Layers that share an input meet it in reverse order on the way back.
        module, side, _ = records[-1]
        if len(records) > 1 and side == SIDE_A:
            records.insert(0, records.pop())
        return module, (WGRAD if side == SIDE_A else DGRAD), gradient


class WatchedEngine:
    """Autograd's engine, which tells the passes when it runs."""

    def __init__(self, passes, engine):
        self._passes = passes
        self._engine = engine

    def run_backward(self, *args, **kwargs):
        self._passes.backward += 1
        try:
            return self._engine.run_backward(*args, **kwargs)
        finally:
            self._passes.backward -= 1
            if self._passes.backward == 0:
                self._passes.clear()

    def __getattr__(self, name):
        return getattr(self._engine, name)
