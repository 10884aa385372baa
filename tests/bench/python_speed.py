#!/usr/bin/env python3
"""The Python package beside the C++ calls and plain PyTorch: prints docs/python_speed.md.

    ninja -C build/release bench_python_baseline
    PYTHONPATH=build/release/python OMP_NUM_THREADS=1 build/release/venv/bin/python tests/bench/python_speed.py \
        build/release/bin/bench_python_baseline > docs/python_speed.md

Processor time of one thread, the minimum of some repetitions: other programs on the machine change it little.
"""

import pathlib
import subprocess
import sys
import time

import numpy
import torch

import ulplab
import ulplab.torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "engine" / "python"))
from peers import MX_ELEMENTS, mx_quantized  # noqa: E402

#: Products a second of MMA-Sim's model of Hopper's m16n8k16, as measured once with its own code.
MMA_SIM = 0.21e6
UNIT = "sm_90:wgmma.fp16.fp32"
torch.set_num_threads(1)


def least(repetitions, call, calls=1):
    best = float("inf")
    for _ in range(repetitions):
        begin = time.process_time()
        for _ in range(calls):
            call()
        best = min(best, (time.process_time() - begin) / calls)
    return best


def alternating(repetitions, theirs, ours):
    """The least times of two calls that take turns."""
    return [min(times) for times in zip(*([least(1, theirs), least(1, ours)] for _ in range(repetitions)))]


def import_seconds():
    """Of the package and NumPy, in a new interpreter."""
    program = "import time; a = time.process_time(); import ulplab; print(time.process_time() - a)"
    return min(float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
               for _ in range(5))


def transformer_step(layers, width, tokens):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(tokens // 128, 128, width)

    def step():
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()

    return step


class Block(torch.nn.Module):
    """A layer of a Llama-like model: norms with casts inside, rotated heads, SwiGLU."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        widths = {"q": (1, 1), "k": (1, 1), "v": (1, 1), "o": (1, 1), "gate": (1, 3), "up": (1, 3), "down": (3, 1)}
        for name, (rows, columns) in widths.items():
            setattr(self, name, torch.nn.Linear(rows * width, columns * width, bias=False))
        self.norms = torch.nn.ParameterList(torch.ones(width) for _ in range(2))

    def normalised(self, x, which):
        wide = x.float()
        return self.norms[which] * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def forward(self, x):
        y = self.normalised(x, 0)
        q, k, v = (each(y).unflatten(-1, (4, self.width // 4)).transpose(1, 2) for each in (self.q, self.k, self.v))
        angles = torch.arange(x.shape[1], dtype=torch.float32)[:, None] / 100 ** torch.linspace(0, 1, self.width // 4)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        q, k = (z * cos + torch.cat([-z.chunk(2, -1)[1], z.chunk(2, -1)[0]], -1) * sin for z in (q, k))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        y = self.normalised(x, 1)
        return x + self.down(torch.nn.functional.silu(self.gate(y)) * self.up(y))


def llama_forward(layers, width, tokens):
    torch.manual_seed(0)
    model, x = torch.nn.Sequential(*(Block(width) for _ in range(layers))), torch.randn(tokens // 128, 128, width)

    def forward():
        with torch.no_grad():
            model(x)

    return forward


def emulated(step):
    with ulplab.torch.emulate("h100", "mixed_fp16"):
        step()


def products_alone(step):
    """The time that an emulated step's products take, their operands' rounding included."""
    inner, spent = ulplab._core.Emulated.matmul, []

    def timed(*args):
        begin = time.process_time()
        result = inner(*args)
        spent.append(time.process_time() - begin)
        return result

    ulplab._core.Emulated.matmul = timed
    try:
        emulated(step)
    finally:
        ulplab._core.Emulated.matmul = inner
    return sum(spent)


def main():
    lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout.splitlines()
    cpp = {name: float(seconds) for name, seconds in map(str.split, lines)}
    rng = numpy.random.default_rng(0)
    big = rng.standard_normal((1024, 1024)).astype("f2")
    small = rng.standard_normal((16, 16)).astype("f2")
    x = rng.standard_normal(1 << 24).astype("f4")
    y = numpy.empty_like(x)
    tensor = torch.from_numpy(x)
    rows = [("product of 1024 x 1024 x 1024 in float16", "ms", 1e3, "the C++ call on fp32 arrays", cpp["product_1024"],
             least(3, lambda: ulplab.matmul(big, big, unit=UNIT)), "1.2"),
            ("product of 16 x 16 x 16 in float16", "us", 1e6, "the C++ call on fp32 arrays", cpp["product_16"],
             least(20, lambda: ulplab.matmul(small, small, unit=UNIT), 2000), "4 us"),
            ("round 16 M float32 numbers to bf16, new array", "ms", 1e3, "the C++ call", cpp["round_16m"],
             least(5, lambda: ulplab.round(x, "bf16")), "1.2"),
            ("the same, out=", "ms", 1e3, "PyTorch, .bfloat16().float()", least(5, lambda: tensor.bfloat16().float()),
             least(5, lambda: ulplab.round(x, "bf16", out=y)), ""),
            ("round 16 M float32 numbers to fp16, out=", "ms", 1e3, "PyTorch, .half().float()",
             least(3, lambda: tensor.half().float()), least(3, lambda: ulplab.round(x, "fp16", out=y)), "")]
    matrix = x[:1 << 22].reshape(2048, 2048)
    rows.append(("quantise 4 M numbers to MXFP8, with codes", "ms", 1e3, "microxcaling's formulas in NumPy",
                 least(2, lambda: mx_quantized(matrix, 32, *MX_ELEMENTS["mxfp8"])),
                 least(2, lambda: ulplab.quantize(matrix, "mxfp8")), "1.5"))
    rows.append(("products of 1024 x 1024 x 1024, each", "ns", 1e9, "MMA-Sim", 1 / MMA_SIM, rows[0][5] / 1024**3, ""))
    step = transformer_step(4, 256, 4096)
    rows.append(("training step of a Transformer, 4 layers, width 256, 4096 tokens, mixed_fp16 on h100", "s", 1,
                 "plain PyTorch", *alternating(3, step, lambda: emulated(step)), "2.5"))
    rows.append(("its products alone", "s", 1, "plain PyTorch's whole step", rows[-1][4],
                 min(products_alone(step) for _ in range(2)), ""))
    forward = llama_forward(4, 256, 384)
    rows.append(("forward pass of a Llama-like model, 4 layers, width 256, 384 tokens, mixed_fp16 on h100", "ms", 1e3,
                 "plain PyTorch", *alternating(10, forward, lambda: emulated(forward)), "4"))
    rows.append(("its products alone", "ms", 1e3, "plain PyTorch's whole pass", rows[-1][4],
                 min(products_alone(forward) for _ in range(5)), ""))
    rows.append(("import ulplab", "s", 1, "", float("nan"), import_seconds(), "0.3 s"))
    print("# Speed of the Python package\n")
    print("Written by `tests/bench/python_speed.py`; do not edit. Processor time on one thread, the minimum of some "
          f"repetitions; PyTorch {torch.__version__}, NumPy {numpy.__version__}.\n")
    print("| call | time | compared with | its time | ratio | wanted |\n|---|---:|---|---:|---:|---:|")
    for name, unit, factor, other, theirs, ours, wanted in rows:
        compared = f"{other} | {theirs * factor:.3g} {unit} | {ours / theirs:.3g}" if other else " |  | "
        print(f"| {name} | {ours * factor:.3g} {unit} | {compared} | {wanted} |")
    print("\nWanted: a ratio, or a time with its unit. MMA-Sim's 0.21 million products per second (Hopper, m16n8k16, torch "
          "tensors, one thread) were\nmeasured once with its own code on another machine; it is not run here. microxcaling "
          "needs CUDA for its\nkernels: its published formulas run here in NumPy (`tests/engine/python/peers.py`), and a test "
          "compares their values\nwith `quantize`'s.")


if __name__ == "__main__":
    main()
