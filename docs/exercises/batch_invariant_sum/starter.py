from exercise import to_single


def row_sums(x, workers):
    """The sums of the rows of x, a list of lists of singles."""
    return [0.0 for row in x]  # to be written
