"""What exponent_histogram.py works with."""
from dataclasses import dataclass, field

LOWEST_EXPONENT, HIGHEST_EXPONENT = -149, 127


@dataclass
class Histogram:
    counts: list = field(default_factory=lambda: [0] * (HIGHEST_EXPONENT - LOWEST_EXPONENT + 1))
    zeros: int = 0
    infinities: int = 0
    nans: int = 0
    lost_in_half: int = 0
    largest_shift: int = 0
