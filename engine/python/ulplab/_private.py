"""The only names of PyTorch's that are no documented interface and that emulation uses; a test fails when one is gone.

``torch.amp`` asks the first two whether there is a card, when a region or a scaler is made: one that is made before an
emulation's block is switched off for good, and nothing tells it from one that its maker switched off. So the question is
watched from the import on: it is answered as ever, and who asked is remembered, to act inside of blocks.
"""

import contextlib
import gc
import importlib
import sys
import weakref

import torch
from torch._higher_order_ops.flex_attention import flex_attention  # noqa: F401
from torch.utils.checkpoint import DefaultDeviceType

#: (module, name) and what for.
NAMES = {
    ("torch.cuda.amp.common", "amp_definitely_not_available"): "torch.autocast('cuda') and GradScaler act without a card",
    ("torch.cuda", "is_bf16_supported"): "torch.autocast('cuda', torch.bfloat16) acts without a card",
    ("torch.amp.grad_scaler", "GradScaler"): "_enabled, _device and _scale: one made before the block acts inside",
    ("torch.amp.autocast_mode", "autocast"): "_enabled: a region made before the block acts inside",
    ("torch.utils._python_dispatch", "TorchDispatchMode"): "sees every operation below autograd",
    ("torch._higher_order_ops.flex_attention", "flex_attention"): "the operator below it, which has a sentence of ours",
    ("torch.nn.attention.flex_attention", "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"): "and is not to be compiled for that",
    ("torch._subclasses.fake_tensor", "FakeTensor"): "tensors of shapes alone compute by themselves",
    ("torch._subclasses.functional_tensor", "FunctionalTensor"): "so do the compiler's",
    ("torch.utils._pytree", "tree_map"): "the tensors among arguments and results; tree_leaves, too",
    ("torch.multiprocessing.reductions", "StorageWeakRef"): "whether a storage is in use; the fp32 run beside keeps none",
    ("torch.nn.functional", "has_torch_function"): "who sees functions; attention runs as written, without the question",
    ("torch.autograd", "has_torch_function"): "the same of backward and grad",
    ("torch", "_disable_dynamo"): "wraps what modes do; keeps the compiler out of it",
    ("torch._C._dynamo.eval_frame", "get_eval_frame_callback"): "whether a callable of torch.compile runs",
    ("torch._C", "_current_autograd_node"): "whose backward pass runs",
    ("torch._C._autograd", "_get_sequence_nr"): "the number of the forward operation that runs",
}

OLDEST, NEWEST = (2, 8), (2, 13)  # what the tests run with


def check_version(version):
    """ImportError for a PyTorch that is too old, and for one newer than was tried that lacks a name of NAMES."""
    found = tuple(int(part) for part in version.split(".")[:2])
    oldest, newest = (".".join(map(str, each)) for each in (OLDEST, NEWEST))
    tested = f"ulplab.torch needs PyTorch {oldest} or later (tested up to {newest}), and this is {version}"
    if found < OLDEST:
        raise ImportError(f"{tested}: pip install --upgrade torch")
    for module, name in NAMES if found > NEWEST else ():
        try:
            getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            raise ImportError(f"{tested}, which has no {module}.{name}: pip install 'torch=={newest}.*'") from None


_switched_off = weakref.WeakKeyDictionary()  # regions and scalers that asked for a card: the arguments of scalers
_older = weakref.WeakSet()  # scalers that are switched off and were made before the import
_OPTIONS = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")


def watch_amp():
    """Remembers the regions and scalers that are switched off for want of a card."""
    common = torch.cuda.amp.common
    answer = common.amp_definitely_not_available
    if getattr(answer, "watched", False):
        return

    def watched():
        missing, asking = answer(), sys._getframe(1).f_locals
        if missing and isinstance(asking.get("self"), (torch.amp.GradScaler, torch.autocast)):
            _switched_off[asking["self"]] = {name: asking[name] for name in _OPTIONS if name in asking}
        return missing

    for each in gc.get_objects():
        if issubclass(type(each), torch.amp.GradScaler) and not each._enabled:
            _older.add(each)
    watched.watched = True
    common.amp_definitely_not_available = watched


def older_scalers():
    """How many scalers there are that are switched off, nobody knows by whom."""
    return sum(not each._enabled for each in _older)


@contextlib.contextmanager
def _switched_on():
    """Regions and scalers that were made before act inside. A scaler that was used keeps acting: gradients are scaled."""
    changed = [each for each in list(_switched_off) if not each._enabled]
    for each in changed:
        if isinstance(each, torch.amp.GradScaler) and not hasattr(each, "_scale"):
            torch.amp.GradScaler.__init__(each, each._device, **_switched_off[each])
        each._enabled = True
    try:
        yield
    finally:
        for each in changed:
            each._enabled = getattr(each, "_scale", None) is not None


@contextlib.contextmanager
def as_on_a_card():
    """torch.amp's regions and scalers for CUDA act inside, though there is no CUDA, also where checkpoints compute again."""
    answers = {"amp_definitely_not_available": lambda: False, "is_bf16_supported": lambda *_, **__: True}
    undo = []
    of_checkpoints = DefaultDeviceType.get_device_type()
    DefaultDeviceType.set_device_type("cuda")
    try:
        for module, name in NAMES:
            if name in answers:
                owner = importlib.import_module(module)
                undo.append((owner, name, getattr(owner, name)))
                setattr(owner, name, answers[name])
        name = "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"
        if hasattr(owner := sys.modules.get("torch.nn.attention.flex_attention"), name):
            undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, True)
        with _switched_on():
            yield
    finally:
        DefaultDeviceType.set_device_type(of_checkpoints)
        for owner, name, old in reversed(undo):
            setattr(owner, name, old)


def latest_node():
    """The number of the autograd node of the operation that runs in the forward pass."""
    return torch._C._autograd._get_sequence_nr() - 1


def second_factor():
    """Of the matrix product whose backward pass runs: the sizes of its second factor, whether that lies by columns."""
    node = torch._C._current_autograd_node()
    sizes, strides = (getattr(node, f"_saved_mat2_sym_{what}", ()) for what in ("sizes", "strides"))
    return tuple(sizes), strides[:1] == (1,)


def running_node():
    """The number of the node whose backward pass runs, -1 without one."""
    node = torch._C._current_autograd_node()
    return -1 if node is None else node._sequence_nr()


def compiled_runs():
    """Whether what runs was called by way of torch.compile."""
    return callable(torch._C._dynamo.eval_frame.get_eval_frame_callback())


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
