# An exponent histogram: a solution.
import math

from exercise import LOWEST_EXPONENT, Histogram


def histogram(x):
    result = Histogram()
    largest = 0.0
    for size in map(abs, x):
        if math.isnan(size):
            result.nans += 1
        elif math.isinf(size):
            result.infinities += 1
        elif size == 0:
            result.zeros += 1
        else:
            result.counts[math.frexp(size)[1] - 1 - LOWEST_EXPONENT] += 1
            result.lost_in_half += size <= 2.0 ** -25  # a tie goes to zero
            largest = max(largest, size)
    if largest > 0:
        result.largest_shift = 16 - math.frexp(largest)[1]
        if math.ldexp(largest, result.largest_shift) >= 65520:
            result.largest_shift -= 1
    return result
