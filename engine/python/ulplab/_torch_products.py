"""PyTorch's matrix products, by their names in aten. ``run`` is the emulation."""

import torch

#: The trainer's operation that a product of PyTorch is part of: cast lists and exclusions of recipes go by it.
OPERATIONS = {"mm": "linear", "addmm": "linear", "bmm": "matmul", "baddbmm": "matmul", "convolution": "conv2d",
              "convolution_backward": "conv2d"}


def _multiply(name):
    def product(run, a, b):
        result, module = run.multiply(name, a, b)
        return run.finish(name, result, (a, b), module, a.dtype)
    return product


mm, bmm = _multiply("mm"), _multiply("bmm")


def _add_to(run, name, c, a, b, beta, alpha):
    result, module = run.multiply(name, a, b)
    if alpha != 1:
        result = run.step(result * alpha)
    if beta != 0:
        result = run.step(result + (run.vector(c) if beta == 1 else run.step(run.vector(c) * beta)))
    return run.finish(name, result, (c, a, b), module, a.dtype)


def addmm(run, c, a, b, *, beta=1, alpha=1):
    return _add_to(run, "addmm", c, a, b, beta, alpha)


def baddbmm(run, c, a, b, *, beta=1, alpha=1):
    return _add_to(run, "baddbmm", c, a, b, beta, alpha)


def mv(run, a, x):
    return mm(run, a, x.unsqueeze(1)).squeeze(1)


def addmv(run, c, a, x, *, beta=1, alpha=1):
    return addmm(run, c.expand(a.shape[0]).unsqueeze(1), a, x.unsqueeze(1), beta=beta, alpha=alpha).squeeze(1)


def dot(run, x, y):
    return mm(run, x.unsqueeze(0), y.unsqueeze(1)).reshape(())


def grouped_mm(run, a, b, offs=None, bias=None, out_dtype=None):
    """A product a group: rows of a that end at offs by their matrix of b, or columns of a by the same rows of b."""
    if bias is not None or out_dtype not in (None, a.dtype) or a.dim() == 3:
        raise NotImplementedError("emulate multiplies groups of rows or of columns of a matrix, without bias")
    starts = [0, *offs.tolist()]
    if b.dim() == 2:
        return torch.stack([mm(run, a[:, i:j], b[i:j]) if i < j else a.new_zeros(a.shape[0], b.shape[1])
                            for i, j in zip(starts, starts[1:])])
    y = a.new_zeros(a.shape[0], b.shape[2])
    for i, j, matrix in zip(starts, starts[1:], b):
        if i < j:
            y[i:j] = mm(run, a[i:j], matrix)
    return y


HANDLERS = {"mm": mm, "bmm": bmm, "addmm": addmm, "baddbmm": baddbmm, "mv": mv, "addmv": addmv, "dot": dot, "vdot": dot,
            "_grouped_mm": grouped_mm}
