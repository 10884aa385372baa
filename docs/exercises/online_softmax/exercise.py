"""What online_softmax.py works with. All numbers are singles: round each result with to_single."""
import math
from dataclasses import dataclass

from words import to_single


def exponential(x):
    """e^x, rounded to a single."""
    try:
        return to_single(math.exp(x))
    except OverflowError:
        return math.inf


@dataclass
class Row:
    largest: float = -math.inf  # score so far
    sum: float = 0.0  # of exp(score - largest)
    out: float = 0.0  # of exp(score - largest) * value
