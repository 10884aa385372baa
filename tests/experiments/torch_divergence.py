#!/usr/bin/env python3
"""A small Transformer whose activations and gradients are kept in fp16, trained by PyTorch with a constant loss scale.

Each result and each gradient of a result is rounded to fp16, weights have fp32 masters: mixed precision as on a GPU, for
PyTorch on a CPU, which has no fp16 products. Writes the scaled fp16 gradients of each eighth step as
FOLDER/grads_STEP.npz and prints the loss; ends where it is not finite. Usage: torch_divergence.py FOLDER EXPONENT [STEPS]:
the loss scale is 2^EXPONENT.
"""
import math
import sys

import numpy
import torch

WIDTH, HEADS, PLACES, TOKENS = 16, 2, 16, 11


class Half(torch.autograd.Function):
    """Rounds to fp16, on the way forth and on the way back."""

    @staticmethod
    def forward(_, x):
        return x.half().float()

    @staticmethod
    def backward(_, gradient):
        return gradient.half().float()


half = Half.apply


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def linear(self, layer, x):
        return half(torch.nn.functional.linear(x, half(layer.weight), half(layer.bias)))

    def forward(self, x):
        batch, places, _ = x.shape
        q, k, v = self.linear(self.qkv, half(self.norm1(x))).split(WIDTH, dim=-1)
        q, k, v = (y.view(batch, places, HEADS, -1).transpose(1, 2) for y in (q, k, v))
        scores = half(q @ k.transpose(-1, -2) / math.sqrt(WIDTH / HEADS))
        later = torch.triu(torch.ones(places, places, dtype=torch.bool), 1)
        weights = half(scores.masked_fill(later, float("-inf")).softmax(-1))
        x = half(x + self.linear(self.out, half((weights @ v).transpose(1, 2).reshape(batch, places, WIDTH))))
        return half(x + self.linear(self.down, half(torch.relu(self.linear(self.up, half(self.norm2(x)))))))


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(TOKENS, WIDTH), torch.nn.Embedding(PLACES, WIDTH)
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens):
        x = half(self.tokens(tokens) + self.places(torch.arange(tokens.shape[1])))
        for block in self.blocks:
            x = block(x)
        return half(torch.nn.functional.linear(x, half(self.head.weight), half(self.head.bias)))


def main():
    folder, scale = sys.argv[1], 2.0 ** int(sys.argv[2])
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = Transformer()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    for step in range(steps):
        # Sequences that count up from a random token in steps of 1 to 3.
        first, stride = torch.randint(TOKENS, (32, 1)), torch.randint(1, 4, (32, 1))
        sequence = (first + stride * torch.arange(PLACES + 1)) % TOKENS
        scores = net(sequence[:, :-1])
        loss = torch.nn.functional.cross_entropy(scores.reshape(-1, TOKENS), sequence[:, 1:].reshape(-1))
        optimizer.zero_grad()
        (loss * scale).backward()
        finite = all(torch.isfinite(p.grad).all() for p in net.parameters())
        if step % 8 == 0 or step == steps - 1 or not finite:
            print(f"step {step:3d}  loss {loss.item():.4f}{'' if finite else '  gradients are not finite'}")
            gradients = {name: p.grad.half().numpy() for name, p in net.named_parameters()}
            numpy.savez_compressed(f"{folder}/grads_{step}.npz", **gradients)
        if not math.isfinite(loss.item()):
            break
        for p in net.parameters():
            p.grad.copy_(p.grad.half().float() / scale)
        optimizer.step()


main()
