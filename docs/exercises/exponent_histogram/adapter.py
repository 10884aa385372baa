from exponent_histogram import histogram
from words import single


def answer(question):
    h = histogram([single(word) for word in question])
    return [h.zeros, h.infinities, h.nans, h.lost_in_half, h.largest_shift] + list(h.counts)
