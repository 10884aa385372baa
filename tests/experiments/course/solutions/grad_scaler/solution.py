# A GradScaler: a solution.
import math

from exercise import to_single


def unscale(scaler, gradients):
    inverse = to_single(1 / scaler.scale)
    found = not all(math.isfinite(g) for g in gradients)
    gradients[:] = [to_single(g * inverse) for g in gradients]
    return found


def update(scaler, found_infinity):
    if found_infinity:
        scaler.scale = to_single(scaler.scale * scaler.backoff)
        scaler.tracker = 0
        return
    scaler.tracker += 1
    if scaler.tracker < scaler.interval:
        return
    grown = to_single(scaler.scale * scaler.growth)
    if math.isfinite(grown):
        scaler.scale = grown
    scaler.tracker = 0
