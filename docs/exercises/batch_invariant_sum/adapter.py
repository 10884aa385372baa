from batch_invariant_sum import row_sums
from words import bits, single


def answer(question):
    rows, columns, workers = question[:3]
    x = [single(word) for word in question[3:]]
    return [bits(s) for s in row_sums([x[r * columns:(r + 1) * columns] for r in range(rows)], workers)]
