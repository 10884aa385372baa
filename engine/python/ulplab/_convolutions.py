"""Convolutions of one to three dimensions as products over patches (engine/tape/conv.cpp), forward and backward.

A patch matrix has a column for each output pixel and a row for each number that the kernel sees of it: channels
outermost, then rows, then columns of the kernel. ``run`` is the emulation.
"""

import itertools
import math

import torch

from ._passes import DGRAD, SIDE_A, SIDE_B, WGRAD, Purpose


def _patches(x, kernel, stride, padding, dilation):
    """(patch, images * pixels) of x (images, channels, extents ...)."""
    count = len(kernel)
    x = torch.nn.functional.pad(x, [p for each in reversed(padding) for p in (each, each)])
    for i in range(count):
        x = x.unfold(2 + i, dilation[i] * (kernel[i] - 1) + 1, stride[i])[..., ::dilation[i]]
    # (images, channels, pixels ..., kernel ...)
    order = (1, *range(2 + count, 2 + 2 * count), 0, *range(2, 2 + count))
    return x.permute(order).reshape(x.shape[1] * math.prod(kernel), -1)


def _fold(run, patches, images, shape, kernel, stride, padding, dilation, out):
    """Adds a patch matrix (pixels, patch) to the images' pixels; a pixel's entries by ascending output pixel."""
    channels, *extents = shape
    wide = torch.zeros(images, channels, *(n + 2 * p for n, p in zip(extents, padding)))
    entries = patches.reshape(images, *out, channels, *kernel)
    for place in itertools.product(*(reversed(range(k)) for k in kernel)):
        window = wide[(..., *(slice(at * d, at * d + (n - 1) * s + 1, s)
                              for at, d, n, s in zip(place, dilation, out, stride)))]
        window.copy_(run.step((window + entries[(..., *place)].movedim(-1, 1)).contiguous()))
    return wide[(..., *(slice(p, p + n) for p, n in zip(padding, extents)))]


def _pixels_first(y):
    """(images * pixels, channels) of (images, channels, extents ...)."""
    return y.movedim(1, -1).reshape(-1, y.shape[1])


def _images_first(d, images, extents):
    """(images, channels, extents ...) of (images * pixels, channels)."""
    return d.reshape(images, *extents, -1).movedim(-1, 1)


def convolution(run, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    module, operands = run.module(), (x, w, bias)
    x, w = x.float(), w.float()
    purpose = run.passes.of_forward(x, w, module)
    kernel, parts = tuple(w.shape[2:]), []
    for xg, wg in zip(x.chunk(groups, 1), w.chunk(groups, 0)):
        flat, extents = wg.reshape(wg.shape[0], -1), xg.shape[2:]
        if transposed:
            d, _ = run.multiply("convolution", _pixels_first(xg), flat, purpose)
            size = [(n - 1) * s - 2 * p + d_ * (k - 1) + more + 1 for n, s, p, d_, k, more in
                    zip(extents, stride, padding, dilation, kernel, output_padding)]
            parts.append(_fold(run, d, x.shape[0], (wg.shape[1], *size), kernel, stride, padding, dilation, extents))
        else:
            size = [(n + 2 * p - d_ * (k - 1) - 1) // s + 1 for n, s, p, d_, k in
                    zip(extents, stride, padding, dilation, kernel)]
            d, _ = run.multiply("convolution", _patches(xg, kernel, stride, padding, dilation).t(), flat.t(), purpose)
            parts.append(_images_first(d, x.shape[0], size))
    y = torch.cat(parts, 1)
    if bias is not None:
        y = y + run.vector(bias).reshape(1, -1, *(1 for _ in kernel))
    return run.finish("convolution", y.contiguous(), operands, module, operands[0].dtype)


def convolution_backward(run, dy, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    module, operands = run.passes.module_of(w) or run.module(), (dy, x, w)
    type, dy, x, w = dy.dtype, dy.float(), x.float(), w.float()
    kernel, dxs, dws = tuple(w.shape[2:]), [], []
    for dyg, xg, wg in zip(dy.chunk(groups, 1), x.chunk(groups, 1), w.chunk(groups, 0)):
        flat, extents = wg.reshape(wg.shape[0], -1), xg.shape[2:]
        # Pixels first; a transposed convolution is the input gradient of a plain one, and its own is that one.
        gradient = _patches(dyg, kernel, stride, padding, dilation).t() if transposed else _pixels_first(dyg)
        if mask[0]:
            d, _ = run.multiply("convolution_backward", gradient, flat.t() if transposed else flat,
                                Purpose(module, module, DGRAD, SIDE_A))
            dxs.append(_images_first(d, x.shape[0], extents) if transposed else
                       _fold(run, d, x.shape[0], xg.shape[1:], kernel, stride, padding, dilation, dyg.shape[2:]))
        if mask[1]:
            a, b, side = (_pixels_first(xg).t(), gradient, SIDE_B) if transposed else \
                (gradient.t(), _patches(xg, kernel, stride, padding, dilation).t(), SIDE_A)
            dws.append(run.multiply("convolution_backward", a, b, Purpose(module, module, WGRAD, side))[0].reshape(wg.shape))
    results = (torch.cat(dxs, 1).contiguous() if mask[0] else None, torch.cat(dws, 0) if mask[1] else None,
               run.sum_rows(_pixels_first(dy)) if mask[2] else None)
    return tuple(each if each is None else run.finish("convolution_backward", each, operands, module, type)
                 for each in results)


HANDLERS = {"convolution": convolution, "convolution_backward": convolution_backward}
