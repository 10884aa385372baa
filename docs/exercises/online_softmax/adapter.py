from exercise import Row
from online_softmax import next_tile, result
from words import bits, single


def answer(question):
    n, tile = question[:2]
    numbers = [single(word) for word in question[2:]]
    row = Row()
    words = []
    for first in range(0, n, tile):
        last = min(first + tile, n)
        next_tile(row, numbers[first:last], numbers[n + first:n + last])
        words.append(bits(result(row)))
    return words
