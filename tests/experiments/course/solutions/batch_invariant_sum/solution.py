# A batch-invariant sum: a solution.
from exercise import to_single


def one_by_one(numbers):
    total = 0.0
    for x in numbers:
        total = to_single(total + x)
    return total


def row_sum(row):
    parts = [one_by_one(row[i:i + 8]) for i in range(0, len(row), 8)]
    while len(parts) > 1:
        parts = [one_by_one(parts[i:i + 2]) for i in range(0, len(parts), 2)]
    return parts[0]


def row_sums(x, workers):
    return [row_sum(row) for row in x]
