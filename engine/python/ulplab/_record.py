"""A failing step of a run elsewhere, written to a folder, and the same step again here."""

import json
import os
import platform
import shutil

import numpy
import torch
from torch.utils._pytree import tree_leaves

from . import _core, _search
from ._run import paused

KEPT = 1  # dumps of one recorder


def _stored(tensor):
    """A NumPy array of the numbers, exact; and the dtype by name."""
    tensor = tensor.detach().cpu()
    name = str(tensor.dtype).split(".")[-1]
    narrow = tensor.is_floating_point() and tensor.dtype not in (torch.float64, torch.float32)
    return (tensor.float() if narrow else tensor).contiguous().numpy(), name


class _Tree:
    """Nested lists, tuples and dictionaries as JSON, with the tensors beside: {"tensor": key, "dtype": name}."""

    def __init__(self, arrays):
        self.arrays = arrays

    def flat(self, x):
        if isinstance(x, torch.Tensor):
            key = f"t{len(self.arrays)}"
            self.arrays[key], dtype = _stored(x)
            return {"tensor": key, "dtype": dtype}
        if isinstance(x, dict):
            return {"dict": [[self.flat(key), self.flat(each)] for key, each in x.items()]}
        if isinstance(x, (list, tuple)):
            return {"tuple" if isinstance(x, tuple) else "list": [self.flat(each) for each in x]}
        if x is None or isinstance(x, (bool, int, float, str)):
            return x
        raise TypeError(f"a step with a {type(x).__name__} among its inputs cannot be recorded; give tensors, numbers, texts, "
                        "lists, tuples and dictionaries")

    def nested(self, x):
        if not isinstance(x, dict):
            return x
        if "tensor" in x:
            return torch.from_numpy(numpy.array(self.arrays[x["tensor"]])).to(getattr(torch, x["dtype"]))
        if "dict" in x:
            return {self.nested(key): self.nested(each) for key, each in x["dict"]}
        kind = "tuple" if "tuple" in x else "list"
        return {"tuple": tuple, "list": list}[kind](self.nested(each) for each in x[kind])


class Recorder:
    """Follows a model's forward passes; called with the loss after the backward pass, it writes a step that went wrong.

    written   the folders that it wrote
    """

    def __init__(self, model, folder, optimizer, scaler):
        self.model, self.folder = model, os.fspath(folder)
        self.optimizer, self.scaler = optimizer, scaler
        self.written, self.steps = [], 0
        self._inputs = None
        self._hook = model.register_forward_pre_hook(self._before, with_kwargs=True)

    def close(self):
        self._hook.remove()

    def _before(self, model, args, kwargs):
        device = next((x.device.type for x in tree_leaves([args, kwargs]) if isinstance(x, torch.Tensor)), "cpu")
        kind = device if torch.is_autocast_enabled(device) else "cpu"
        self._inputs = {"args": args, "kwargs": kwargs, "random": torch.get_rng_state(),
                        "cuda_random": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
                        "buffers": {name: each.detach().clone() for name, each in model.named_buffers()},
                        "autocast": str(torch.get_autocast_dtype(kind)).split(".")[-1]
                        if torch.is_autocast_enabled(kind) else None, "training": model.training}

    def __call__(self, loss=None, always=False, **kept):
        """Writes the step where its loss or a gradient is not finite, or always. kept: what the loss needs besides, labels
        say. Call it before unscale_() and step(), which change gradients and weights. Returns whether it wrote."""
        self.steps += 1
        if self._inputs is None:
            raise RuntimeError("nothing was recorded: call the model before the recorder")
        tensors = [p.grad for p in self.model.parameters() if p.grad is not None] + ([] if loss is None else [loss])
        if len(self.written) >= KEPT or not (always or any(not bool(torch.isfinite(x).all()) for x in tensors)):
            return False
        rank = int(os.environ.get("RANK", 0))
        self._write(f"{self.folder}.rank{rank}" if rank else self.folder, loss, kept)
        return True

    def _write(self, folder, loss, kept):
        partial = f"{folder}.partial-{os.getpid()}"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        arrays, weights = {}, {**dict(self.model.named_parameters()), **self._inputs.pop("buffers")}
        tree = _Tree(arrays)
        stored = {name: _stored(x) for name, x in weights.items()}
        content = {
            "what": "a step recorded by ulplab.torch.record", "step": self.steps,
            "loss": None if loss is None else loss.item(), "inputs": tree.flat(self._inputs), "kept": tree.flat(kept),
            "dtypes": {name: dtype for name, (_, dtype) in stored.items()},
            "optimizer": None if self.optimizer is None else tree.flat(self.optimizer.state_dict()),
            "scaler": None if self.scaler is None else tree.flat(self.scaler.state_dict()),
            "versions": {"torch": torch.__version__, "python": platform.python_version(), "cuda": torch.version.cuda,
                         "device": torch.cuda.get_device_name() if torch.cuda.is_initialized() else platform.processor()}}
        with open(os.path.join(partial, "weights.npz"), "wb") as file:
            numpy.savez(file, **{name: numbers for name, (numbers, _) in stored.items()})
        with open(os.path.join(partial, "tensors.npz"), "wb") as file:
            numpy.savez(file, **arrays)
        with open(os.path.join(partial, "step.json"), "w", encoding="utf-8") as file:
            json.dump(content, file)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(partial, folder)
        self.written.append(folder)


def record(model, folder, *, optimizer=None, scaler=None):
    """Follows a training elsewhere, and writes the first step that goes wrong, for :func:`replay`.

        recorder = ulplab.torch.record(model, "dump", optimizer=optimizer, scaler=scaler)
        ...
        scaler.scale(loss).backward()
        recorder(loss, labels=y)      # before scaler.step(optimizer)

    The folder gets weights.npz, tensors.npz (inputs, what the call gave, the optimizer's state, random numbers)
    and step.json (their structure, the scaler's state, autocast, versions), nothing pickled; it appears when it is complete.
    Returns a Recorder.
    """
    return Recorder(model, folder, optimizer, scaler)


def _arrays(folder, name):
    with numpy.load(os.path.join(folder, name)) as file:
        return dict(file)


class Replay:
    """A recorded step: replay() or replay(run) computes it again, from the recorded state each time, and returns the loss.

    recipe   of emulate, for what the step was computed in: "mixed_fp16" or "bf16" under autocast, None where the weights
             have types of their own; fp32 otherwise
    args, kwargs, kept   the inputs, and what else was recorded; scale: the loss scale; versions, recorded_loss
    """

    def __init__(self, folder, model, loss, optimizer, scaler):
        folder = os.fspath(folder)
        try:
            with open(os.path.join(folder, "step.json"), encoding="utf-8") as file:
                content = json.load(file)
            tree = _Tree(_arrays(folder, "tensors.npz"))
            weights = _arrays(folder, "weights.npz")
        except FileNotFoundError as error:
            raise _core.DataError(f"{folder} holds no recorded step: {error.filename} is missing; ulplab.torch.record "
                                  "writes such folders") from None
        inputs = tree.nested(content["inputs"])
        own = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        for name in sorted(set(own) ^ set(weights)) or [x for x in own if tuple(own[x].shape) != weights[x].shape]:
            raise _core.DataError(f"{name} of the recorded model and of this one differ; build the model as there")
        for name, each in own.items():
            each.data = torch.from_numpy(weights[name]).to(getattr(torch, content["dtypes"][name]))
        if optimizer is not None and content["optimizer"] is not None:
            optimizer.load_state_dict(tree.nested(content["optimizer"]))
        state = tree.nested(content["scaler"]) or {}
        self.scale = float(state.get("scale", state.get("_scale", 1.0)))
        self.model, self.optimizer, self.loss = model, optimizer, loss
        self.args, self.kwargs, self.kept = inputs["args"], inputs["kwargs"], tree.nested(content["kept"])
        self.versions, self.recorded_loss = content["versions"], content["loss"]
        narrow = {"float16": "mixed_fp16", "bfloat16": "bf16"}
        typed = any(each in narrow for each in content["dtypes"].values())
        self.recipe = narrow.get(inputs["autocast"], None if typed else "fp32")
        self.state = {"model": model, "optimizer": optimizer}
        torch.set_rng_state(inputs["random"])
        self._start = _search.State(model, optimizer)

    def __call__(self, run=None):
        self._start.restore()
        output = self.model(*self.args, **self.kwargs)
        loss = self.loss(output, self.kept)
        if isinstance(loss, torch.Tensor) and loss.requires_grad:
            _search.scaler_used = True
            scale = self.scale if _search.forced_scale is None else _search.forced_scale
            (loss * scale).backward()
            gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
            with paused(), torch.no_grad():
                for each in gradients:
                    each.mul_(1 / scale)
                finite = all(bool(torch.isfinite(each).all()) for each in gradients)
            if self.optimizer is not None and finite:
                self.optimizer.step()
        return loss


def replay(folder, model, loss=lambda output, kept: getattr(output, "loss", output), *, optimizer=None):
    """The step that :func:`record` wrote, for :func:`diagnose` and :func:`search`, on the CPU.

    model       built as there, on the CPU; gets the recorded weights and types
    loss        loss(output, kept): what was differentiated; kept is what the recorder was called with
    optimizer   gets the recorded state

        print(ulplab.torch.diagnose(ulplab.torch.replay("dump", model, lambda y, kept: loss_of(y, kept["labels"]))))

    DataError: the folder holds no recorded step.
    """
    return Replay(folder, model, loss, optimizer, None)
