from exercise import Row, exponential, to_single


def next_tile(row, scores, values):
    """Takes the next scores and their values, two lists, into the row."""
    # to be written


def result(row):
    """The softmax's mean of the values so far."""
    return 0.0  # to be written
