"""Numbers as 32-bit words, and rounding to the formats of the exercises. A Python float is a double."""
import math
import struct


def single(word):
    """The single whose bits a word is."""
    return struct.unpack("<f", struct.pack("<I", word))[0]


def bits(value):
    """The bits of a number, rounded to a single."""
    return struct.unpack("<I", struct.pack("<f", to_single(value)))[0]


def rounded(letter, value):
    try:
        return struct.unpack("<" + letter, struct.pack("<" + letter, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def to_single(value):
    """The nearest single, ties to even. A sum, product, quotient or root of singles, rounded so, is as if rounded once."""
    return rounded("f", float(value))


def to_half(value):
    """The nearest half, ties to even; infinite from 65520 on. Of a single, or of any double."""
    return rounded("e", float(value))
