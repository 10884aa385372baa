from mxfp8_quantizer import block_scale, element
from words import single


def answer(question):
    x = [single(word) for word in question[1:]]
    if question[0] == 0xFFFFFFFF:
        return [block_scale((x + [0.0] * 32)[:32])]
    return [question[0]] + [element(value, question[0]) for value in x]
