from exercise import Trainer, to_half, to_single


def train_step(trainer, x, target):
    """One step on the two inputs in the list x. The loss before it."""
    return 0.0  # to be written
