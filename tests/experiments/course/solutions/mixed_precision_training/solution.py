# The project, mixed-precision training of a net: a solution.
import math

from exercise import to_half, to_single


def train_step(trainer, x, target):
    wa, wb, wo = ([to_half(w) for w in masters] for masters in (trainer.wa, trainer.wb, trainer.wo))
    a = [to_half(to_single(to_single(p * x[0]) + to_single(q * x[1]))) for p, q in zip(wa, wb)]
    h = [value if value > 0 else 0.0 for value in a]
    total = 0.0
    for w, value in zip(wo, h):
        total = to_single(total + to_single(w * value))
    error = to_single(to_half(total) - target)
    loss = to_single(to_single(error * error) / 2)
    d = to_half(to_single(error * trainer.scale))
    da = [to_half(to_single(d * w)) if value > 0 else 0.0 for w, value in zip(wo, a)]
    gradients = [[to_half(to_single(g * x[0])) for g in da], [to_half(to_single(g * x[1])) for g in da],
                 [to_half(to_single(d * value)) for value in h]]
    if not all(math.isfinite(g) for list_ in gradients for g in list_):
        trainer.scale = to_single(trainer.scale * trainer.backoff)
        trainer.tracker = 0
        return loss
    for masters, list_ in zip((trainer.wa, trainer.wb, trainer.wo), gradients):
        for j, g in enumerate(list_):
            masters[j] = to_single(masters[j] - to_single(trainer.rate * to_single(g / trainer.scale)))
    trainer.tracker += 1
    if trainer.tracker == trainer.interval:
        trainer.scale = to_single(trainer.scale * trainer.growth)
        trainer.tracker = 0
    return loss
