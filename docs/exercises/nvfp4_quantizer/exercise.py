"""What nvfp4_quantizer.py works with. All numbers are singles: round each result with to_single. Codes are integers."""
from words import to_single  # noqa: F401
