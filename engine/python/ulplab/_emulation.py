"""The dispatch mode under which PyTorch computes in a unit's arithmetic. ulplab.torch is the interface."""

import contextlib
import os
from collections import Counter, OrderedDict

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _core
from ._ops import MOVES, REDUCTIONS, ROUNDED, names_of, plain_name
from ._products import _order
from ._report import Counts, Report

FORWARD, DGRAD, WGRAD = 0, 1, 2
PASSES = ("forward", "input gradient", "weight gradient")
NO_SIDE, SIDE_A, SIDE_B = 0, 1, 2
MOST_KEPT = 4096  # operands of forward products that are remembered until their backward pass

active = []  # emulations that are entered, the innermost last


@contextlib.contextmanager
def paused():
    """What runs inside is plain PyTorch: optimizers, loss scalers."""
    for run in active:
        run._paused += 1
    try:
        yield
    finally:
        for run in active:
            run._paused -= 1


def dense_array(tensor):
    """A NumPy array of the tensor's memory, in C order whatever the tensor's strides; None where it has gaps."""
    array = tensor.detach().numpy()
    if array.flags.c_contiguous:
        return array
    array = array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    return array if array.flags.c_contiguous else None


class Emulation(TorchDispatchMode):
    def __init__(self, backend, recipe, order, fp32, strict, seed):
        super().__init__()
        self.products = _core.Products(recipe, backend, _order(order), seed)
        self.recipe = self.products.recipe
        self.strict = strict
        self.low = self.recipe["low"]
        self.flush = self.recipe["flush"]
        casts = self.recipe["casts"]
        self.single = names_of(fp32) | names_of(name for name, cast in casts.items()
                                                if cast == "single" and name != "ctc")
        if self.recipe["keep_batchnorm_fp32"]:
            self.single |= names_of(["batch_norm"])
        self.modules = OrderedDict()
        self.first = None
        self.not_emulated = Counter()
        if self.recipe["excluded"]:
            self.not_emulated["layers that the recipe leaves to another one are not: all are computed alike"] = 1
        if self.recipe["update"] != "fp32":
            self.not_emulated[f"optimizer steps in {self.recipe['update']}"] = 1
        self._names = {}
        self._stack = []
        self._backward = 0
        self._optimizing = 0
        self._paused = 0
        self._kept = OrderedDict()
        self._rounded_parameters = {}
        self._undo = []
        self._kinds = {}
        self._handlers = {name: getattr(self, "_" + name) for name in (
            "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "convolution", "convolution_backward",
            "native_layer_norm_backward")}
        self._handlers["vdot"] = self._dot
        if self.low == "fp32":
            del self._handlers["native_layer_norm_backward"]

    # ---- entering and leaving ----

    def __enter__(self):
        hooks = torch.nn.modules.module
        self._undo = [hooks.register_module_forward_pre_hook(self._entered).remove,
                      hooks.register_module_forward_hook(self._left).remove]
        self._patch(torch.autograd.Variable, "_execution_engine", _Engine(self, torch.autograd.Variable._execution_engine))
        record = torch.autograd.profiler.record_function
        enter, leave = record.__enter__, record.__exit__

        def entered(which):
            self._optimizing += which.name.startswith("Optimizer.")
            return enter(which)

        def left(which, *error):
            self._optimizing -= which.name.startswith("Optimizer.")
            if which.name.startswith("Optimizer.step"):
                self.products.step = self.products.step + 1
            return leave(which, *error)

        self._patch(record, "__enter__", entered)
        self._patch(record, "__exit__", left)
        # The fused kernels of attention in evaluation are left aside where somebody overrides functions.
        self._patch(torch.overrides, "has_torch_function", lambda tensors: True)
        active.append(self)
        return super().__enter__()

    def __exit__(self, *error):
        try:
            return super().__exit__(*error)
        finally:
            active.remove(self)
            for undo in reversed(self._undo):
                undo()
            self._kept.clear()
            self._stack.clear()

    def _patch(self, owner, name, value):
        old = owner.__dict__.get(name, getattr(owner, name))
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, old))

    def _entered(self, module, args):
        if not self._stack:
            for name, each in module.named_modules():
                self._names[id(each)] = name or type(module).__name__
        self._stack.append(self._names.get(id(module), type(module).__name__))

    def _left(self, module, args, result):
        if self._stack:
            self._stack.pop()

    # ---- the report ----

    def report(self):
        """What was computed up to now: a Report."""
        return Report(self.recipe["name"], self.products.backend, self.products.path(1024, 1024, 1024), self.modules,
                      self.first, self.not_emulated)

    def _counts(self, module):
        counts = self.modules.get(module)
        if counts is None:
            counts = self.modules[module] = Counts()
        return counts

    def _module(self):
        return self._stack[-1] if self._stack else ""

    def _pass(self):
        return "optimizer" if self._optimizing else "backward" if self._backward else "forward"

    def _note_first(self, name, module, array, at, operands):
        if self.first is not None:
            return
        if any(isinstance(x, torch.Tensor) and x.is_floating_point() and not torch.isfinite(x).all() for x in operands):
            return
        place = tuple(int(i) for i in numpy.unravel_index(at, array.shape))
        self.first = {"module": module, "pass": self._pass(), "step": self.products.step, "operation": name,
                      "element": place, "value": float(array.reshape(-1)[at]),
                      "operands": [self._operand_at(x, place, array.shape) for x in operands
                                   if isinstance(x, (torch.Tensor, int, float))]}

    def _operand_at(self, x, place, shape):
        if not isinstance(x, torch.Tensor):
            return x
        if tuple(x.shape) == tuple(shape):
            return float(x[place])
        return x.detach().clone()

    # ---- rounding ----

    def _round(self, name, tensor, operands, module):
        """A result to the recipe's format, in place, and counted."""
        if self.low == "fp32" or tensor.dim() == 0 or tensor.numel() == 0:
            if self.first is None and tensor.numel() > 0 and not torch.isfinite(tensor).all():
                array = tensor.detach().numpy()
                self._note_first(name, module, array, int(numpy.flatnonzero(~numpy.isfinite(array))[0]), operands)
            return
        array = dense_array(tensor)
        if array is None:
            copy = tensor.detach().contiguous()
            self._round(name, copy, operands, module)
            tensor.detach().copy_(copy)
            return
        overflows, underflows, not_finite, at = _core.round_in_place(array, self.low, self.flush)
        counts = self._counts(module)
        counts.rounded += array.size
        counts.overflows += overflows
        counts.underflows += underflows
        if not_finite and self.first is None:
            in_order = tensor.detach().numpy()
            if array is not in_order:
                at = int(numpy.flatnonzero(~numpy.isfinite(in_order))[0])
            self._note_first(name, module, in_order, at, operands)

    def _rounded_parameter(self, parameter):
        known = self._rounded_parameters.get(id(parameter))
        if known is not None and known[0] == parameter._version:
            return known[1]
        copy = parameter.detach().clone()
        if copy.dim() > 0:
            _core.round_in_place(copy.numpy(), self.low, self.flush)
        self._rounded_parameters[id(parameter)] = (parameter._version, copy, parameter)
        return copy

    def _vector(self, bias):
        """A bias as the model sees it: in the low format."""
        if bias is None or self.low == "fp32":
            return bias
        copy = bias.detach().float().clone(memory_format=torch.contiguous_format)
        _core.round_in_place(copy.numpy(), self.low, self.flush)
        return copy

    # ---- products ----

    def _remember(self, tensor, module, side):
        if self._backward or not torch.is_grad_enabled():
            return
        storage = tensor.storage()
        records = self._kept.setdefault(storage.data_ptr(), [])
        records.append((module, side, storage))
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)

    def _purpose(self, a, b):
        """(module, pass, which operand is dy) of a product."""
        if not self._backward:
            module = self._module()
            self._remember(a, module, SIDE_A)
            self._remember(b, module, SIDE_B)
            return module, FORWARD, NO_SIDE
        of_a, of_b = (self._kept.get(x.storage().data_ptr()) for x in (a, b))
        records, gradient = (of_b, SIDE_A) if of_b else (of_a, SIDE_B)
        if not records:
            return self._module(), DGRAD, SIDE_A
        # Layers that share an input meet it in reverse order on the way back.
        module, side, _ = records[-1]
        if len(records) > 1 and side == SIDE_A:
            records.insert(0, records.pop())
        return module, (WGRAD if side == SIDE_A else DGRAD), gradient

    def _multiply(self, name, a, b, purpose=None):
        """A * B in fp32, as the unit gives it, by the recipe's rules for its operands."""
        module, which, gradient = purpose or self._purpose(a, b)
        if a.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise NotImplementedError(f"emulate multiplies float32, float16 and bfloat16 tensors; aten::{name} has "
                                      f"{a.dtype}")
        x, y = a.detach().float().numpy(), b.detach().float().numpy()
        result = torch.from_numpy(self.products.matmul(x, y, module, which, gradient, which == WGRAD))
        counts = self._counts(module)
        counts.products[PASSES[which]] = counts.products.get(PASSES[which], 0) + (x.shape[0] if x.ndim == 3 else 1)
        counts.multiplications += result.numel() * x.shape[-1]
        return result, module

    def _finish(self, name, result, operands, module, dtype=torch.float32):
        self._round(name, result, operands, module)
        return result if dtype is torch.float32 else result.to(dtype)

    def _mm(self, a, b):
        result, module = self._multiply("mm", a, b)
        return self._finish("mm", result, (a, b), module, a.dtype)

    _bmm = _mm

    def _add_to(self, name, c, a, b, beta, alpha):
        result, module = self._multiply(name, a, b)
        if alpha != 1:
            result = result * alpha
        if beta != 0:
            result = result + (self._vector(c) if beta == 1 else self._vector(c) * beta)
        return self._finish(name, result, (c, a, b), module, a.dtype)

    def _addmm(self, c, a, b, *, beta=1, alpha=1):
        return self._add_to("addmm", c, a, b, beta, alpha)

    def _baddbmm(self, c, a, b, *, beta=1, alpha=1):
        return self._add_to("baddbmm", c, a, b, beta, alpha)

    def _mv(self, a, x):
        return self._mm(a, x.unsqueeze(1)).squeeze(1)

    def _addmv(self, c, a, x, *, beta=1, alpha=1):
        return self._addmm(c.expand(a.shape[0]).unsqueeze(1), a, x.unsqueeze(1), beta=beta, alpha=alpha).squeeze(1)

    def _dot(self, x, y):
        return self._mm(x.unsqueeze(0), y.unsqueeze(1)).reshape(())

    # ---- convolutions, as products over patches (engine/operations/conv.cpp) ----

    def _flat(self, x, w, stride, padding, dilation, output_padding):
        """A one-dimensional convolution as one of images of height 1."""
        if x.dim() == 4:
            return x, w, tuple(stride), tuple(padding), tuple(dilation), tuple(output_padding)
        if x.dim() != 3:
            raise NotImplementedError("emulate computes convolutions of one and two dimensions; aten::convolution has "
                                      f"{x.dim() - 2}")
        return (x.unsqueeze(2), w.unsqueeze(2), (1, *stride), (0, *padding), (1, *dilation), (0, *output_padding))

    @staticmethod
    def _patches(x, kernel, stride, padding, dilation):
        """(patch, images * pixels): column p holds what the kernel sees for pixel p, channels outermost."""
        columns = torch.nn.functional.unfold(x, kernel, dilation, padding, stride)
        return columns.permute(1, 0, 2).reshape(columns.shape[1], -1)

    @staticmethod
    def _fold(patches, images, shape, kernel, stride, padding, dilation, out):
        """Adds a patch matrix (pixels, patch) to the images' pixels; a pixel's entries by ascending output pixel."""
        channels, height, width = shape
        wide = torch.zeros(images, channels, height + 2 * padding[0], width + 2 * padding[1])
        entries = patches.reshape(images, out[0], out[1], channels, kernel[0], kernel[1])
        for ky in reversed(range(kernel[0])):
            for kx in reversed(range(kernel[1])):
                top, left = ky * dilation[0], kx * dilation[1]
                wide[:, :, top:top + (out[0] - 1) * stride[0] + 1:stride[0],
                     left:left + (out[1] - 1) * stride[1] + 1:stride[1]] += entries[..., ky, kx].permute(0, 3, 1, 2)
        return wide[:, :, padding[0]:padding[0] + height, padding[1]:padding[1] + width]

    @staticmethod
    def _pixels_first(y):
        """(images * pixels, channels) of (images, channels, height, width)."""
        return y.permute(0, 2, 3, 1).reshape(-1, y.shape[1])

    def _convolution(self, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
        module = self._module()
        one = x.dim() == 3
        operands = (x, w, bias)
        x, w, stride, padding, dilation, output_padding = self._flat(x, w, stride, padding, dilation, output_padding)
        x, w = x.float(), w.float()
        self._remember(x, module, SIDE_A)
        self._remember(w, module, SIDE_B)
        purpose = (module, FORWARD, NO_SIDE)
        kernel, parts = tuple(w.shape[2:]), []
        for xg, wg in zip(x.chunk(groups, 1), w.chunk(groups, 0)):
            if transposed:
                d, _ = self._multiply("convolution", self._pixels_first(xg), wg.reshape(wg.shape[0], -1), purpose)
                size = [(xg.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel[i] - 1)
                        + output_padding[i] + 1 for i in range(2)]
                parts.append(self._fold(d, x.shape[0], (wg.shape[1], *size), kernel, stride, padding, dilation,
                                        xg.shape[2:]))
                continue
            out = [(xg.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1
                   for i in range(2)]
            patches = self._patches(xg, kernel, stride, padding, dilation)
            d, _ = self._multiply("convolution", patches.t(), wg.reshape(wg.shape[0], -1).t(), purpose)
            parts.append(d.reshape(x.shape[0], *out, -1).permute(0, 3, 1, 2))
        y = torch.cat(parts, 1)
        if bias is not None:
            y = y + self._vector(bias).reshape(1, -1, 1, 1)
        y = y.squeeze(2) if one else y
        return self._finish("convolution", y.contiguous(), operands, module, operands[0].dtype)

    def _convolution_backward(self, dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
                              mask):
        one = x.dim() == 3
        kept = self._kept.get(w.storage().data_ptr())
        module = kept[-1][0] if kept else self._module()
        operands, shapes = (dy, x, w), (x.shape, w.shape)
        x, w, stride, padding, dilation, output_padding = self._flat(x, w, stride, padding, dilation, output_padding)
        dy = dy.unsqueeze(2) if one else dy
        dy, x, w = dy.float(), x.float(), w.float()
        kernel, dxs, dws = tuple(w.shape[2:]), [], []
        for dyg, xg, wg in zip(dy.chunk(groups, 1), x.chunk(groups, 1), w.chunk(groups, 0)):
            flat = wg.reshape(wg.shape[0], -1)
            gradient = (self._patches(dyg, kernel, stride, padding, dilation).t() if transposed
                        else self._pixels_first(dyg))  # pixels first
            if mask[0]:
                d, _ = self._multiply("convolution_backward", gradient, flat.t() if transposed else flat,
                                      (module, DGRAD, SIDE_A))
                dxs.append(d.reshape(x.shape[0], *xg.shape[2:], -1).permute(0, 3, 1, 2) if transposed else
                           self._fold(d, x.shape[0], xg.shape[1:], kernel, stride, padding, dilation, dyg.shape[2:]))
            if mask[1]:
                if transposed:
                    d, _ = self._multiply("convolution_backward", self._pixels_first(xg).t(), gradient,
                                          (module, WGRAD, SIDE_B))
                else:
                    d, _ = self._multiply("convolution_backward", gradient.t(),
                                          self._patches(xg, kernel, stride, padding, dilation).t(),
                                          (module, WGRAD, SIDE_A))
                dws.append(d.reshape(wg.shape))
        results = [torch.cat(dxs, 1).reshape(shapes[0]).contiguous() if mask[0] else None,
                   torch.cat(dws, 0).reshape(shapes[1]) if mask[1] else None,
                   torch.from_numpy(numpy.add.reduce(self._pixels_first(dy).contiguous().numpy(), axis=0))
                   if mask[2] else None]
        for each in results:
            if each is not None:
                self._finish("convolution_backward", each, operands, module)
        return tuple(results)

    # ---- everything else ----

    def _native_layer_norm_backward(self, dy, x, shape, mean, rstd, weight, bias, mask):
        """PyTorch's, but for the sums over rows: their order there follows the number of threads."""
        func = torch.ops.aten.native_layer_norm_backward.default
        weight = weight if weight is None else self._vector(weight)
        dx = func(dy, x, shape, mean, rstd, weight, bias, [mask[0], False, False])[0]
        rows = dy.reshape(-1, *shape)
        dw = db = None
        if mask[1]:
            count = len(shape)
            scaled = ((x - mean) * rstd).reshape(-1, *shape) * rows
            dw = torch.from_numpy(numpy.add.reduce(scaled.contiguous().numpy(), axis=0)) if count else None
        if mask[2]:
            db = torch.from_numpy(numpy.add.reduce(rows.contiguous().numpy(), axis=0))
        for each in (dx, dw, db):
            if each is not None:
                self._round("native_layer_norm_backward", each, (dy, x), self._module())
        return dx, dw, db

    def _classify(self, func):
        name = plain_name(func)
        schema = func._schema
        views = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        in_place = any(r.alias_info is not None and r.alias_info.is_write for r in schema.returns) or \
            schema.name.endswith("_")
        # torch.ops.prims and quantized have names of their own.
        known = schema.name.startswith(("aten::", "profiler::"))
        if name in self._handlers and not in_place and known:
            kind = "product"
        elif views or (known and name in MOVES):
            kind = "move"
        elif known and name in ROUNDED:
            kind = "round"
        else:
            kind = "unknown"
        return kind, name, in_place

    def _refuse(self, func, name):
        if self.strict:
            raise NotImplementedError(
                f"emulate cannot compute {func._schema.name} in the arithmetic of {self.products.backend}; write it with "
                "operations that it knows, or give strict=False: it then runs in fp32 and is listed in the report")
        self.not_emulated[func._schema.name] += 1

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._paused:
            return func(*args, **kwargs)
        known = self._kinds.get(func)
        if known is None:
            known = self._kinds[func] = self._classify(func)
        kind, name, in_place = known
        if kind == "move":
            return self._move(func, args, kwargs)
        if self._optimizing:
            return self._optimizer(func, name, args, kwargs)
        if kind == "product":
            if not any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in args):
                return func(*args, **kwargs)
            return self._handlers[name](*args, **kwargs)
        if kind == "unknown":
            self._refuse(func, name)
        return self._rounded(func, name, in_place, args, kwargs)

    def _move(self, func, args, kwargs):
        result = func(*args, **kwargs)
        if any(getattr(x, "_ulplab_single", False) for x in args if isinstance(x, torch.Tensor)):
            self._mark(result)
        return result

    @staticmethod
    def _mark(result):
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, torch.Tensor) and each.is_floating_point():
                each._ulplab_single = True

    def _optimizer(self, func, name, args, kwargs):
        result = func(*args, **kwargs)
        if self.first is None and isinstance(result, torch.Tensor) and result.is_floating_point() and \
                not torch.isfinite(result).all():
            array = result.detach().numpy()
            self._note_first(name, "optimizer", array, int(numpy.flatnonzero(~numpy.isfinite(array))[0]), args[1:])
        return result

    def _rounded(self, func, name, in_place, args, kwargs):
        tensors = [x for x in args if isinstance(x, torch.Tensor) and x.is_floating_point()]
        inside = self._backward or self._stack or any(x.requires_grad for x in tensors)
        single = name in self.single or any(getattr(x, "_ulplab_single", False) for x in tensors)
        if self._backward and name.endswith(("_backward", "_backward_data")) and name not in self.single:
            single = False  # the gradient of a low operand is low
        if not inside or not tensors:
            return func(*args, **kwargs)
        if not single and self.low != "fp32":
            args = tuple(self._rounded_parameter(x) if isinstance(x, torch.nn.Parameter) and not (in_place and i == 0)
                         else x for i, x in enumerate(args))
        result = self._run(func, name, args, kwargs)
        if single:
            self._mark(result)
            return result
        module = self._module()
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(each, torch.Tensor) and each.is_floating_point() and each.dtype is torch.float32:
                if not (in_place and isinstance(each, torch.nn.Parameter)):
                    self._round(name, each, args, module)
        return result

    @staticmethod
    def _run(func, name, args, kwargs):
        if name not in REDUCTIONS or torch.get_num_threads() == 1:
            return func(*args, **kwargs)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return func(*args, **kwargs)
        finally:
            torch.set_num_threads(threads)


class _Engine:
    """Autograd's engine, which tells the emulation when it runs."""

    def __init__(self, emulation, engine):
        self._emulation = emulation
        self._engine = engine

    def run_backward(self, *args, **kwargs):
        self._emulation._backward += 1
        try:
            return self._engine.run_backward(*args, **kwargs)
        finally:
            self._emulation._backward -= 1
            if self._emulation._backward == 0:
                self._emulation._kept.clear()

    def __getattr__(self, name):
        return getattr(self._engine, name)


def backend_of(unit):
    """"soft:h100" for "h100", "soft:sm_90.wgmma" for a unit's key, "soft:FILE.json" for a file; others as they are."""
    text = str(unit)
    if text in ("ieee", "eigen"):
        return {"ieee": "soft:ieee", "eigen": "eigen"}[text]
    if text.startswith("soft:") or "(" in text:
        return text
    if text.endswith(".json"):
        return "soft:" + os.path.abspath(text)
    if ":" in text:
        row = _core.unit_row(text)
        return f"soft:{row['architecture']}.{row['instruction']}"
    return "soft:" + text
