# Online softmax: a solution.
import math

from exercise import exponential, to_single


def next_tile(row, scores, values):
    largest = max([row.largest] + scores)
    if math.isinf(largest):
        return
    factor = exponential(to_single(row.largest - largest))
    row.sum = to_single(row.sum * factor)
    row.out = to_single(row.out * factor)
    row.largest = largest
    for score, value in zip(scores, values):
        weight = exponential(to_single(score - largest))
        row.sum = to_single(row.sum + weight)
        row.out = to_single(row.out + to_single(weight * value))


def result(row):
    return to_single(row.out / row.sum) if row.sum else 0.0
