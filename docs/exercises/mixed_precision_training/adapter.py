from exercise import Trainer
from mixed_precision_training import train_step
from words import bits, single


def answer(question):
    n = question[0]
    rate, scale, growth, backoff = map(single, question[1:5])
    numbers = [single(word) for word in question[6:]]
    trainer = Trainer(numbers[:n], numbers[n:2 * n], numbers[2 * n:3 * n], rate, scale, growth, backoff, question[5])
    words = []
    for at in range(3 * n, len(numbers) - 2, 3):
        words.append(bits(train_step(trainer, numbers[at + 1:at + 3], numbers[at])))
        words.append(bits(trainer.scale))
    return words
