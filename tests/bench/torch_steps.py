#!/usr/bin/env python3
"""Training steps of the nets of step_nets.hpp with PyTorch. Usage: torch_steps.py cnn|lstm SECONDS.

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


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    torch.manual_seed(1)
    net = {"cnn": Cnn, "lstm": Lstm}[sys.argv[1]]()
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
