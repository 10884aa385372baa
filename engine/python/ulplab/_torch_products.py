"""PyTorch's matrix products, by their names in aten. ``run`` is the emulation."""

import torch

#: The trainer's operation that a product of PyTorch is part of: cast lists and exclusions of recipes go by it.
OPERATIONS = {"mm": "linear", "addmm": "linear", "bmm": "matmul", "baddbmm": "matmul", "convolution": "conv2d",
              "convolution_backward": "conv2d"}


def _is_wide(a, out_dtype):
    """Whether the result of a product of 16 bits is to be fp32; RuntimeError where a card has no such result."""
    if out_dtype not in (None, a.dtype, torch.float32):
        raise RuntimeError(f"out_dtype {out_dtype} of a product of {a.dtype}: a card has the operands' type and float32")
    return out_dtype is torch.float32


def _multiply(name):
    def product(run, a, b, out_dtype=None):
        result, module = run.multiply(name, a, b)
        return run.finish(name, result, (a, b), module, a.dtype, _is_wide(a, out_dtype))
    return product


mm, bmm = _multiply("mm"), _multiply("bmm")


def _add_to(run, name, c, a, b, out_dtype, beta, alpha):
    result, module = run.multiply(name, a, b)
    if alpha != 1:
        result = run.step(result.mul_(alpha))
    if beta != 0:
        result = run.step(result.add_(run.vector(c) if beta == 1 else run.step(run.vector(c) * beta)))
    return run.finish(name, result, (c, a, b), module, a.dtype, _is_wide(a, out_dtype))


def addmm(run, c, a, b, out_dtype=None, *, beta=1, alpha=1):
    return _add_to(run, "addmm", c, a, b, out_dtype, beta, alpha)


def baddbmm(run, c, a, b, out_dtype=None, *, beta=1, alpha=1):
    return _add_to(run, "baddbmm", c, a, b, out_dtype, beta, alpha)


def addbmm(run, c, a, b, *, beta=1, alpha=1):
    """One product is added after the other, as PyTorch does for CUDA."""
    for i, (x, y) in enumerate(zip(a, b)):
        c = addmm(run, c, x, y, beta=1 if i else beta, alpha=alpha)
    return c


def mv(run, a, x):
    return mm(run, a, x.unsqueeze(1)).squeeze(1)


def addmv(run, c, a, x, *, beta=1, alpha=1):
    return addmm(run, c.expand(a.shape[0]).unsqueeze(1), a, x.unsqueeze(1), beta=beta, alpha=alpha).squeeze(1)


def dot(run, x, y):
    return mm(run, x.unsqueeze(0), y.unsqueeze(1)).reshape(())


def grouped(a, b, offsets, product, dtype):
    """The products of groups put together: of rows (a router's experts), of columns or of k; groups end at the offsets.
    product(x, y, i, s) multiplies the parts of group i, which has the slice s of what is grouped."""
    ends = offsets.tolist()
    groups = list(enumerate(slice(start, end) for start, end in zip([0, *ends[:-1]], ends)))
    if a.dim() == 2 and b.dim() == 3:
        parts = [product(a[s], b[i], i, s) for i, s in groups if s.stop > s.start]
        return torch.cat([*parts, a.new_zeros(a.shape[0] - ends[-1], b.shape[2], dtype=dtype)])
    if a.dim() == 3:
        return torch.cat([product(a[i], b[:, s], i, s) for i, s in groups if s.stop > s.start], 1)
    return torch.stack([product(a[:, s], b[s], i, s) if s.stop > s.start else
                        a.new_zeros(a.shape[0], b.shape[1], dtype=dtype) for i, s in groups])


def grouped_mm(run, a, b, offsets=None, bias=None, out_dtype=None):
    """A product for each group of rows, of columns, or of k."""
    return bmm(run, a, b) if offsets is None else grouped(a, b, offsets, lambda x, y, i, s: mm(run, x, y), a.dtype)


HANDLERS = {"mm": mm, "bmm": bmm, "addmm": addmm, "baddbmm": baddbmm, "addbmm": addbmm, "mv": mv, "addmv": addmv,
            "dot": dot, "vdot": dot, "_grouped_mm": grouped_mm}
