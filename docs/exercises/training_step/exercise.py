"""What training_step.py works with. All numbers are singles: round each result with to_single."""
from dataclasses import dataclass

from words import to_half, to_single  # noqa: F401


@dataclass
class Model:
    masters: list  # singles
    weights: list  # halves


@dataclass
class Settings:
    scale: float  # of the loss, a power of two
    rate: float
    limit: float  # of the gradients' norm
