"""What find_nan.py works with."""
from collections import namedtuple

CODES = ["add", "subtract", "multiply", "divide", "square_root"]
CAUSES = ["none", "bad_operand", "overflow", "division_by_zero", "invalid"]

Operation = namedtuple("Operation", "code a b result")  # code is one of CODES; the numbers are halves
