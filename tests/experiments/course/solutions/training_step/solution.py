# The eleven steps: a solution.
import math

from exercise import to_half, to_single


def training_step(model, x, target, settings):
    total = 0.0
    for w, value in zip(model.weights, x):
        total = to_single(total + to_single(w * value))
    error = to_single(to_half(total) - target)
    output_gradient = to_half(to_single(error * settings.scale))
    gradients = [to_half(to_single(output_gradient * value)) for value in x]
    if not all(math.isfinite(g) for g in gradients):
        return False
    gradients = [to_single(g / settings.scale) for g in gradients]
    squares = 0.0
    for g in gradients:
        squares = to_single(squares + to_single(g * g))
    norm = to_single(math.sqrt(squares))
    if norm > settings.limit:
        factor = to_single(settings.limit / norm)
        gradients = [to_single(g * factor) for g in gradients]
    model.masters = [to_single(w - to_single(settings.rate * g)) for w, g in zip(model.masters, gradients)]
    model.weights = [to_half(w) for w in model.masters]
    return True
