from exercise import Model, Settings
from training_step import training_step
from words import bits, single, to_half


def answer(question):
    n = question[0]
    shown = question[1]
    numbers = [single(word) for word in question[2:]]
    settings, masters, rest = Settings(*numbers[:3]), numbers[3:3 + n], numbers[3 + n:]
    model = Model(masters, [to_half(x) for x in masters])
    words = []
    for at in range(0, len(rest) - n, n + 1):
        stepped = training_step(model, rest[at + 1:at + 1 + n], rest[at], settings)
        words += [bits(1 if stepped else 0)] + [bits(x) for x in model.weights + model.masters[:shown]]
    return words
