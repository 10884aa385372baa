from exercise import CAUSES, CODES, Operation
from find_nan import find_first
from words import single


def answer(question):
    operations = [Operation(CODES[question[at]], *[single(word) for word in question[at + 1:at + 4]])
                  for at in range(0, len(question) - 3, 4)]
    index, cause = find_first(operations)
    return [index, CAUSES.index(cause)]
