# Find the NaN: a solution.
import math


def cause_of(operation):
    finite = math.isfinite(operation.a) and (operation.code == "square_root" or math.isfinite(operation.b))
    if not finite:
        return "bad_operand"
    if math.isnan(operation.result):
        return "invalid"  # 0 / 0, the root of a negative number
    return "division_by_zero" if operation.code == "divide" and operation.b == 0 else "overflow"


def find_first(operations):
    for i, operation in enumerate(operations):
        if not math.isfinite(operation.result):
            return i, cause_of(operation)
    return -1, "none"
