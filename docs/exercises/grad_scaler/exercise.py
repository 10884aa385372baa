"""What grad_scaler.py works with. All numbers are singles: round each result with to_single."""
from dataclasses import dataclass

from words import to_single  # noqa: F401


@dataclass
class Scaler:
    scale: float
    growth: float
    backoff: float
    interval: int
    tracker: int = 0  # clean steps since the scale last changed
