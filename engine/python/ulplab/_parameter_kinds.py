"""Parameters that a recipe may keep in another way than all others (ParameterKind, engine/tape/parameter.hpp)."""

import torch

from . import _core


class ParameterKinds:
    """Those of batch normalisations and the weights of linear layers, of the models that have run."""

    def __init__(self, kept):
        self._known = {}  # by id: (kind, parameter), which keeps the id in use
        self._weights = {}  # of linear layers, by the place of their numbers
        self._kept = kept  # of these weights, by role: the format, whether it is scaled, the rounding

    def add(self, model):
        for module in model.modules():
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
                for each in (module.weight, module.bias):
                    if each is not None:
                        self._known[id(each)] = ("batch_norm", each)
            elif isinstance(module, torch.nn.Linear):
                self._add_weight(module.weight)
            elif isinstance(module, torch.nn.MultiheadAttention) and module.in_proj_weight is not None:
                self._add_weight(module.in_proj_weight)

    def _add_weight(self, weight):
        self._known[id(weight)] = ("linear_weight", weight)
        self._weights[weight.untyped_storage().data_ptr()] = weight

    def of(self, parameter):
        return self._known.get(id(parameter), ("",))[0]

    def value_of(self, tensor):
        """The operand of a product as the model sees it: a linear layer's weight, or a view of all of it, as it is kept."""
        if "value" not in self._kept:
            return tensor
        weight = self._weights.get(tensor.untyped_storage().data_ptr())
        if weight is None or tensor.numel() != weight.numel():
            return tensor
        numbers = weight.detach().clone(memory_format=torch.contiguous_format)
        for role in ("weight", "value"):  # from the master, which a first step has not put on its grid yet
            _core.keep_scaled(numbers.numpy(), self._kept[role][0])
        return numbers.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
