"""What mixed_precision_training.py works with. All numbers are singles: round each result with to_single."""
from dataclasses import dataclass

from words import to_half, to_single  # noqa: F401


@dataclass
class Trainer:
    wa: list  # masters, one for each hidden unit: of the first input,
    wb: list  # of the second,
    wo: list  # and of the output
    rate: float
    scale: float  # of the loss
    growth: float
    backoff: float
    interval: int
    tracker: int = 0  # clean steps since the scale last changed
