"""The only names of PyTorch's that are no documented interface and that emulation uses; a test fails when one is gone.

``torch.amp`` asks the first two whether there is a card, before it opens a region or scales a loss.
"""

import contextlib
import importlib
import sys

import torch

#: (module, name) and what for.
NAMES = {
    ("torch.cuda.amp.common", "amp_definitely_not_available"): "torch.autocast('cuda') and GradScaler act without a card",
    ("torch.cuda", "is_bf16_supported"): "torch.autocast('cuda', torch.bfloat16) acts without a card",
    ("torch.utils._python_dispatch", "TorchDispatchMode"): "sees every operation below autograd",
    ("torch", "_disable_dynamo"): "wraps what modes do; keeps the compiler out of it",
    ("torch._C", "_current_autograd_node"): "whose backward pass runs",
    ("torch._C._autograd", "_get_sequence_nr"): "the number of the forward operation that runs",
}

OLDEST, NEWEST = (2, 8), (2, 13)  # what the tests run with


def check_version(version):
    """ImportError for a PyTorch that is too old; a newer one than was tried is taken."""
    found = tuple(int(part) for part in version.split(".")[:2])
    if found < OLDEST:
        raise ImportError(f"ulplab.torch needs PyTorch {OLDEST[0]}.{OLDEST[1]} or later (tested up to "
                          f"{NEWEST[0]}.{NEWEST[1]}), and this is {version}: pip install --upgrade torch")


@contextlib.contextmanager
def as_on_a_card():
    """torch.amp's regions and scalers for CUDA act inside, though there is no CUDA."""
    answers = {"amp_definitely_not_available": lambda: False, "is_bf16_supported": lambda *_, **__: True}
    undo = []
    try:
        for module, name in NAMES:
            if name in answers:
                owner = importlib.import_module(module)
                undo.append((owner, name, getattr(owner, name)))
                setattr(owner, name, answers[name])
        yield
    finally:
        for owner, name, old in reversed(undo):
            setattr(owner, name, old)


def latest_node():
    """The number of the autograd node of the operation that runs in the forward pass."""
    return torch._C._autograd._get_sequence_nr() - 1


def running_node():
    """The number of the node whose backward pass runs, -1 without one."""
    node = torch._C._current_autograd_node()
    return -1 if node is None else node._sequence_nr()


def hide_from_compiler(mode):
    """PyTorch's wrapper of a mode loads the compiler at the first operation, to say that it is to be left out: some
    seconds. Where nobody has loaded it, it needs no word."""
    inner = getattr(mode.__torch_dispatch__, "__wrapped__", None)
    if inner is None:
        return
    known = getattr(inner, "__dynamo_disable", None)
    if "torch._dynamo" not in sys.modules:
        inner.__dynamo_disable = inner
    elif known is inner:
        del inner.__dynamo_disable
