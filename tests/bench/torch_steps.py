#!/usr/bin/env python3
"""Training steps of the nets of step_nets.hpp with PyTorch. Usage: torch_steps.py cnn|lstm|transformer SECONDS.

Prints the least wall and processor milliseconds a step over five stretches of SECONDS / 5 each, as JSON.
"""
import json
import os
import sys
import time

import torch
from torch import nn


class Cnn(nn.Module):
    """28 x 28 images, 3x3 convolution to 8 channels, relu, pool, 3x3 to 16, relu, pool, linear to 10; batch 64."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.dense = nn.Linear(16 * 7 * 7, 10)
        self.batch = torch.randn(64, 1, 28, 28)
        self.targets = torch.randint(0, 10, (64,))

    def loss(self):
        one = torch.max_pool2d(torch.relu(self.conv1(self.batch)), 2)
        two = torch.max_pool2d(torch.relu(self.conv2(one)), 2)
        return nn.functional.cross_entropy(self.dense(two.flatten(1)), self.targets)


class Lstm(nn.Module):
    """32 steps of 64 inputs, LSTM of 128, linear to 64 at each step; batch 32."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(64, 128)
        self.out = nn.Linear(128, 64)
        self.batch = torch.randn(32, 32, 64)
        self.targets = torch.randint(0, 64, (1024,))

    def loss(self):
        states, _ = self.lstm(self.batch)
        return nn.functional.cross_entropy(self.out(states).reshape(1024, 64), self.targets)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x, mask):
        texts, length, width = x.shape
        split = self.in_proj(x).view(texts, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = split[0] / (width // self.heads) ** 0.5 @ split[1].transpose(2, 3) + mask
        mixed = torch.softmax(scores, -1) @ split[2]
        return self.out_proj(mixed.transpose(1, 2).reshape(texts, length, width))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A language model: 16 texts of 256 tokens of 512, width 256, 4 layers of 4 heads."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(512, 256), nn.Embedding(256, 256)
        self.layers = nn.ModuleList(Layer(256, 4) for _ in range(4))
        self.norm, self.out = nn.LayerNorm(256), nn.Linear(256, 512)
        self.batch = torch.randint(0, 512, (16, 256))
        self.targets = torch.randint(0, 512, (4096,))
        self.mask = torch.full((256, 256), float("-inf")).triu(1)

    def loss(self):
        x = self.tokens(self.batch) + self.places.weight
        for layer in self.layers:
            x = layer(x, self.mask)
        return nn.functional.cross_entropy(self.out(self.norm(x)).reshape(4096, 512), self.targets)


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(1)
    net = {"cnn": Cnn, "lstm": Lstm, "transformer": Transformer}[sys.argv[1]]()
    seconds = float(sys.argv[2])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = net.loss()
        loss.backward()
        optimizer.step()

    for _ in range(3):
        step()
    wall = cpu = float("inf")
    for _ in range(5):
        count = 0
        cpu_start, start = time.process_time(), time.perf_counter()
        while count == 0 or time.perf_counter() - start < seconds / 5:
            step()
            count += 1
        wall = min(wall, (time.perf_counter() - start) / count)
        cpu = min(cpu, (time.process_time() - cpu_start) / count)
    print(json.dumps({"wall": wall * 1e3, "cpu": cpu * 1e3}))


if __name__ == "__main__":
    main()
