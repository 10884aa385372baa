"""What others compute, written anew from their published descriptions: for tests and for the table of speeds."""

import numpy


def mx_quantized(x, block, emax, fraction_bits, emin, largest):
    """OCP MX as microxcaling quantises (Rouhani et al., arXiv 2310.10537, algorithm 1; rounding "even"): float32 lines in
    blocks of `block` with the scale 2^(floor(log2(absolute maximum)) - emax), elements to nearest even, saturated."""
    blocks = x.reshape(*x.shape[:-1], -1, block).astype("f4")
    amax = numpy.abs(blocks).max(-1, keepdims=True)
    scale = numpy.ldexp(numpy.float32(1), numpy.frexp(numpy.where(amax == 0, 1, amax))[1] - 1 - emax)
    scaled = blocks / scale
    exponent = numpy.maximum(numpy.frexp(scaled)[1] - 1, emin)
    step = numpy.ldexp(numpy.float32(1), exponent - fraction_bits)
    return (numpy.clip(numpy.rint(scaled / step) * step, -largest, largest) * scale).reshape(x.shape)


#: The element formats: exponent of the largest number, fraction bits, exponent of the smallest normal one, the largest.
MX_ELEMENTS = {"mxfp8": (8, 3, -6, 448.0), "mxfp8_e5m2": (15, 2, -14, 57344.0), "mxfp6_e3m2": (4, 2, -2, 28.0),
               "mxfp6_e2m3": (2, 3, 0, 7.5), "mxfp4": (2, 1, 0, 6.0)}
