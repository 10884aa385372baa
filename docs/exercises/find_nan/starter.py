from exercise import CAUSES, CODES, Operation


def find_first(operations):
    """Index and cause of the first operation whose result is not finite; -1 and "none" where there is none."""
    return 0, "none"  # to be written
