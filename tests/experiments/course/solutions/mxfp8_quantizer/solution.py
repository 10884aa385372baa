# An MXFP8 quantiser: a solution.
import math


def block_scale(x):
    if not all(math.isfinite(value) for value in x):
        return 255
    largest = max(map(abs, x))
    return max(math.frexp(largest)[1] - 1 - 8, -127) + 127 if largest else 0


def element(x, scale):
    if scale == 255:
        return 0
    value = math.ldexp(abs(x), 127 - scale)
    sign = 0x80 if math.copysign(1, x) < 0 else 0
    if value == 0:
        return sign
    if value >= 448:
        return sign | 0x7E
    exponent = max(math.frexp(value)[1] - 1, -6)
    return sign | min(round(math.ldexp(value, 3 - exponent)) + 8 * (exponent + 6), 0x7E)
