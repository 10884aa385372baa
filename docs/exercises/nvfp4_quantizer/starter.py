from exercise import to_single


def tensor_scale(x):
    """The scale of a tensor, a list of singles."""
    return 0.0  # to be written


def block_scale(x, largest):
    """The E4M3 code of the scale of a block of 16, in a tensor with that largest magnitude."""
    return 0  # to be written


def element(x, tensor, block):
    """The E2M1 code of x under the two scales, a single and an E4M3 code."""
    return 0  # to be written
