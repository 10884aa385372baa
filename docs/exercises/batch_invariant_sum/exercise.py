"""What batch_invariant_sum.py works with. All numbers are singles: round each result with to_single."""
from words import to_single  # noqa: F401
