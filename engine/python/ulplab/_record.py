"""A failing step of a run elsewhere, written to a folder, and the same step again here."""

import contextlib
import json
import os
import platform

import numpy
import torch
from torch.utils._pytree import tree_leaves

from . import _core, _search
from ._run import paused


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
        raise TypeError(f"a step with a {type(x).__name__} among its inputs cannot be recorded; give tensors, numbers, "
                        "texts, lists, tuples and dictionaries")

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
    """Follows a training elsewhere, and writes its first step that goes wrong, for :func:`replay`.

        recorder = ulplab.torch.record(model, "dump", optimizer=optimizer, scaler=scaler)
        ...
        scaler.scale(loss).backward()
        recorder(loss, labels=y)      # before scaler.step(optimizer)

    The folder gets weights.npz, tensors.npz (inputs, what the call gave, the optimizer's state, random numbers) and step.json
    (their structure, the scaler's state, autocast, versions), nothing pickled; it appears when it is complete. written: the
    folders that there are, at most one a process.
    """

    def __init__(self, model, folder, *, optimizer=None, scaler=None):
        rank = int(os.environ.get("RANK", 0))
        self.model, self.folder = model, os.fspath(folder) + (f".rank{rank}" if rank else "")
        if os.path.exists(self.folder):
            raise ValueError(f"{self.folder} exists; give a folder that does not, or remove it")
        self.optimizer, self.scaler = optimizer, scaler
        self.written, self.steps, self._inputs = [], 0, None
        self._hook = model.register_forward_pre_hook(self._before, with_kwargs=True)

    def close(self):
        self._hook.remove()

    def _before(self, model, args, kwargs):
        device = next((x.device.type for x in tree_leaves([args, kwargs]) if isinstance(x, torch.Tensor)), "cpu")
        cast = torch.is_autocast_enabled(device)
        self._inputs = {"args": args, "kwargs": kwargs, "random": torch.get_rng_state(),
                        "cuda_random": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None,
                        "buffers": {name: each.detach().clone() for name, each in model.named_buffers()},
                        "autocast": [device, str(torch.get_autocast_dtype(device)).split(".")[-1]] if cast else None,
                        "training": model.training}

    def __call__(self, loss=None, always=False, **kept):
        """Writes the step where its loss or a gradient is not finite, or always. kept: what the loss needs besides, labels
        say. Call it before unscale_() and step(), which change gradients and weights. Returns whether it wrote."""
        self.steps += 1
        if self._inputs is None:
            raise RuntimeError("nothing was recorded: call the model before the recorder")
        tensors = [p.grad for p in self.model.parameters() if p.grad is not None] + ([] if loss is None else [loss])
        if self.written or not (always or any(not bool(torch.isfinite(x).all()) for x in tensors)):
            return False
        self._write(loss, kept)
        return True

    def _write(self, loss, kept):
        partial = f"{self.folder}.partial-{os.getpid()}"
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
        os.rename(partial, self.folder)
        self.written.append(self.folder)


def _arrays(folder, name):
    with numpy.load(os.path.join(folder, name)) as file:
        return dict(file)


class Replay:
    """The step that :func:`record` wrote, on the CPU: replay() or replay(run) computes it again, from the recorded state each
    time, and returns the loss; a step for :func:`diagnose` and :func:`search`.

        step = ulplab.torch.replay("dump", model, lambda y, kept: loss_of(y, kept["labels"]))
        print(ulplab.torch.diagnose(step))

    model       built as there, on the CPU; gets the recorded weights and types
    loss        loss(output, kept): what was differentiated; kept is what the recorder was called with
    optimizer   gets the recorded state
    args, kwargs, kept, autocast (device and dtype), scale (of the loss), versions, recorded_loss   what was recorded

    Model and loss are computed under the recorded autocast, which acts inside emulate as on a card.

    DataError: the folder holds no recorded step, or that of another model.
    """

    def __init__(self, folder, model, loss=lambda output, kept: getattr(output, "loss", output), *, optimizer=None):
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
        self.autocast = inputs["autocast"]
        self.state = {"model": model, "optimizer": optimizer}
        torch.set_rng_state(inputs["random"])
        self._start = _search.State(model, optimizer)

    def __call__(self, run=None):
        self._start.restore()
        cast = self.autocast and torch.autocast(self.autocast[0], getattr(torch, self.autocast[1]))
        with cast or contextlib.nullcontext():
            loss = self.loss(self.model(*self.args, **self.kwargs), self.kept)
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


record, replay = Recorder, Replay
