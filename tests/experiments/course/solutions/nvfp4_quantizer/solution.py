# An NVFP4 quantiser: a solution.
import math

from exercise import to_single


def code_of(magnitude, fraction_bits, bias, largest_code):
    if magnitude == 0:
        return 0
    exponent = max(math.frexp(magnitude)[1] - 1, 1 - bias)
    code = round(math.ldexp(magnitude, fraction_bits - exponent)) + ((exponent + bias - 1) << fraction_bits)
    return min(code, largest_code)


def value_of(e4m3):
    field, fraction = e4m3 >> 3, e4m3 & 7
    return math.ldexp(fraction, -9) if field == 0 else math.ldexp(8 + fraction, field - 10)


def tensor_scale(x):
    largest = max(map(abs, x))
    return to_single(1 / to_single(2688 / largest)) if largest else 1.0


def block_scale(x, largest):
    encode = to_single(2688 / largest)
    return code_of(to_single(to_single(max(map(abs, x)) / 6) * encode), 3, 7, 0x7E)


def element(x, tensor, block):
    if block == 0:
        return 0
    encode = to_single(1 / to_single(value_of(block) * tensor))
    return (8 if math.copysign(1, x) < 0 else 0) | code_of(abs(to_single(x * encode)), 1, 1, 7)
