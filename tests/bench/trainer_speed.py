#!/usr/bin/env python3
"""Measures training steps of bench_engine and of PyTorch (./check.sh --torch) in turns, and writes docs/trainer_speed.md.

Usage: trainer_speed.py BENCH_ENGINE [--rounds N] [--threads N] [--out FILE] [--blas LIBRARY]

Every round runs each of them once, one after the other; of each the least is kept, so that what else the machine does
falls out. --blas preloads another BLAS for PyTorch (Debian's may be the reference one, which is slow).
"""
import argparse
import ctypes
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys

NETS = ("cnn", "lstm", "transformer")
MEMORY_BAR = 1.1
TORCH_STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_steps.py")


def environment(threads, blas=None):
    result = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")
    if blas:
        result["LD_PRELOAD"] = blas
    return result


def run_engine(program, name, arguments):
    """One benchmark: wall and processor milliseconds a step, and the counters."""
    command = [program, "--benchmark_filter=^" + re.escape(name) + "/process_time", "--benchmark_format=json",
               "--benchmark_min_time=" + str(arguments.seconds)]
    output = subprocess.run(command, env=environment(arguments.threads), check=True, capture_output=True).stdout
    found = json.loads(output)["benchmarks"][0]
    return {"wall": found["real_time"], "cpu": found["cpu_time"], "accounted": found["accounted_MB"],
            "process": found["process_MB"]}


def run_watched(program, name, arguments):
    """What histograms and counters cost: ratios of watched steps to plain ones that take turns with them."""
    command = [program, "--benchmark_filter=^" + re.escape(name) + "/cost_of_watching", "--benchmark_format=json",
               "--benchmark_min_time=" + str(4 * arguments.seconds)]
    output = subprocess.run(command, env=environment(arguments.threads), check=True, capture_output=True).stdout
    found = json.loads(output)["benchmarks"][0]
    return {"cpu": found["processor_ratio"], "wall": found["wall_ratio"]}


def run_torch(net, arguments, blas=None):
    command = [sys.executable, TORCH_STEPS, net, str(arguments.seconds)]
    output = subprocess.run(command, env=environment(arguments.threads, blas), check=True, capture_output=True).stdout
    return json.loads(output)


def least(best, new):
    for key, value in new.items():
        best[key] = min(best.get(key, value), value)


def measure(arguments):
    engine = [f"{net}/{rest}" for net in NETS for rest in (
        "fp32/eigen", "fp32/soft:ieee", "bf16/soft:h100", "mixed_fp16/soft:h100", "fp8/soft:h100", "mxfp8/soft:b200")]
    watched = [f"{net}/{rest}" for net in NETS for rest in ("fp32/eigen", "mixed_fp16/soft:h100")]
    best = {}
    watching = {}
    for turn in range(arguments.rounds):
        for name in engine:
            least(best.setdefault(name, {}), run_engine(arguments.program, name, arguments))
        for net in NETS:
            least(best.setdefault(f"{net}/PyTorch", {}), run_torch(net, arguments))
            if arguments.blas:
                least(best.setdefault(f"{net}/PyTorch with {os.path.basename(arguments.blas)}", {}),
                      run_torch(net, arguments, arguments.blas))
        for name in watched:
            watching.setdefault(name, []).append(run_watched(arguments.program, name, arguments))
        print(f"round {turn + 1} of {arguments.rounds}", file=sys.stderr)
        yield turn + 1, best, watching


def ratios(best, watching):
    """What is asked, each with its ratios of processor time and of wall time (which says little on a busy machine)."""
    def ratio(a, b):
        return a["cpu"] / b["cpu"], a["wall"] / b["wall"]

    for net in NETS:
        fp32 = best[f"{net}/fp32/eigen"]
        for other in [name for name in best if name.startswith(f"{net}/PyTorch")]:
            bar = 1.2 if net == "transformer" else 1.0
            yield f"{net}: fp32 on eigen to {other.split('/', 1)[1]}", bar, *ratio(fp32, best[other])
        for recipe, backend, bar in (("mixed_fp16", "soft:h100", 2.0), ("fp8", "soft:h100", 3.0),
                                     ("mxfp8", "soft:b200", 3.0)):
            yield f"{net}: {recipe} on {backend} to fp32 on eigen", bar, *ratio(best[f"{net}/{recipe}/{backend}"], fp32)
    for name, rounds in watching.items():
        yield (f"{name} with histograms and counters to without, median", 1.05,
               *(statistics.median(one[key] for one in rounds) for key in ("cpu", "wall")))


def widest_vectors():
    """What the ratios of soft products depend on most."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = file.read().split()
    return next((name for flag, name in (("avx512vl", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "no AVX2")


def table(best, watching, rounds, arguments):
    lines = ["# Speed of training steps", "",
             "Written by `tests/bench/trainer_speed.py`; do not edit. Milliseconds per step, the minimum of "
             f"{rounds} rounds in which all took turns, with {arguments.threads} threads. `net/recipe/backend`; "
             "the nets are in `tests/bench/step_nets.hpp` and `torch_steps.py`. On a machine with other work the "
             "processor time is the one to compare.", "",
             f"Machine: {platform.processor() or platform.machine()}, {os.cpu_count()} processors, {widest_vectors()}, "
             f"{datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')}, load average "
             f"{os.getloadavg()[0]:.1f} after.", "",
             "| step | wall ms | processor ms |", "|---|---:|---:|"]
    for name, value in best.items():
        lines.append(f"| {name} | {value['wall']:.2f} | {value['cpu']:.2f} |")
    lines += ["", "| ratio | bar | processor time | wall time |", "|---|---:|---:|---:|"]
    for name, bar, processor, wall in ratios(best, watching):
        lines.append(f"| {name} | {bar} | {processor:.2f} | {wall:.2f} |")
    lines += ["", "Memory, in 10^6 bytes: what the byte accounting says, and by how much the process grew at its peak. "
              f"The bar is {MEMORY_BAR} times.", "", "| step | accounted | process | ratio |", "|---|---:|---:|---:|"]
    for name, value in best.items():
        if "accounted" in value:
            lines.append(f"| {name} | {value['accounted']:.1f} | {value['process']:.1f} | "
                         f"{value['process'] / value['accounted']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", help="bench_engine of a release build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each benchmark in a round")
    parser.add_argument("--blas", help="a BLAS library to preload for PyTorch, as a second comparison")
    parser.add_argument("--out", help="file for the table (docs/trainer_speed.md)")
    arguments = parser.parse_args()
    if not os.path.exists(arguments.program):
        sys.exit(f"trainer_speed.py: there is no {arguments.program}; build it: "
                 "cmake --build build/release --target bench_engine")
    try:
        import torch  # noqa: F401
    except ImportError:
        sys.exit("trainer_speed.py: there is no PyTorch here; run it with build/release/venv/bin/python, which ./check.sh --torch makes")
    if arguments.blas:
        try:  # a library that is not there would be passed over in silence
            ctypes.CDLL(arguments.blas)
        except OSError:
            parser.error(f"--blas: there is no library {arguments.blas} here; apt-get install libopenblas0-pthread has "
                         "libopenblas.so.0")
    for rounds, best, watching in measure(arguments):  # the table stands after every round: a long run may be cut short
        text = table(best, watching, rounds, arguments)
        if arguments.out:
            temporary = arguments.out + ".tmp"
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, arguments.out)
    print(text, end="")


if __name__ == "__main__":
    main()
