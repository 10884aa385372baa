from exercise import Scaler
from grad_scaler import unscale, update
from words import bits, single


def answer(question):
    scaler = Scaler(single(question[0]), single(question[1]), single(question[2]), question[3])
    words = []
    for at in range(4, len(question) - 2, 3):
        gradients = [single(word) for word in question[at:at + 3]]
        found = unscale(scaler, gradients)
        update(scaler, found)
        words += [1 if found else 0] + [bits(g) for g in gradients] + [bits(scaler.scale), scaler.tracker]
    return words
