from nvfp4_quantizer import block_scale, element, tensor_scale
from words import bits, single


def answer(question):
    x = [single(word) for word in question[3:]]
    if question[0] == 0:
        return [bits(tensor_scale(x)), 0]
    if question[0] == 1:
        return [0, block_scale((x + [0.0] * 16)[:16], single(question[1]))]
    return question[1:3] + [element(value, single(question[1]), question[2]) for value in x]
