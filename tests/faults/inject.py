#!/usr/bin/env python3
"""Lets single calls of the system fail in the commands that write files: the n-th write, rename, fsync, pipe, fork or
allocation, n from 1 on. Afterwards no file under a final name is cut short, exit code 0 means that all is there, and no
command hangs or is ended by a signal. Usage: inject.py ULPLAB_PROGRAM SOURCE_FOLDER [POINTS]: at most so many n of each
function and command, spread evenly; 0 tries all. Prints what was tried."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FUNCTIONS = ["write", "rename", "fsync", "pipe", "fork", "malloc"]
MOST_SECONDS = 240


def whole(file):
    """Whether a file is complete, as its kind shows."""
    data = file.read_bytes()
    if file.suffix == ".json":
        try:
            json.loads(data)
        except ValueError:
            return False
        return True
    ends = {".html": b"</html>\n", ".svg": b"</svg>\n\n", ".png": b"IEND\xaeB`\x82", ".xml": b"</testsuites>\n"}
    if file.suffix == ".safetensors":
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + length])
        return len(data) == 8 + length + max((t["data_offsets"][1] for n, t in header.items() if n != "__metadata__"), default=0)
    return data.endswith(ends.get(file.suffix, b"\n"))


def files_below(folder):
    """Files under final names: what is being written has a name of its own."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not any(
        part.endswith((".tmp", ".lock")) or ".partial-" in part for part in path.relative_to(folder).parts))


class Trial:
    def __init__(self, program, sources, work):
        self.program, self.sources, self.work = program, sources, work
        self.preloaded = work / "fail_call.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", self.preloaded,
                        pathlib.Path(__file__).with_name("fail_call.c"), "-ldl"], check=True)
        self.tried, self.violations = 0, []

    def run(self, arguments, function, n):
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(self.work / "before", out)
        environment = dict(os.environ, LD_PRELOAD=str(self.preloaded), ULPLAB_FAIL=f"{function}:{n}", OMP_NUM_THREADS="1",
                           OMP_WAIT_POLICY="passive",  # without one the program starts itself anew, not preloaded
                           ULPLAB_FAIL_COUNT=str(self.work / "count"))
        return subprocess.run([self.program, *arguments], cwd=out, env=environment, capture_output=True,
                              timeout=MOST_SECONDS)

    def points(self, count, most):
        if most == 0 or count <= most:
            return range(1, count + 1)
        return sorted({1 + i * (count - 1) // max(1, most - 1) for i in range(most)})

    def command(self, arguments, before, most):
        name = " ".join(arguments[:2])
        shutil.rmtree(self.work / "before", ignore_errors=True)
        before(self.work / "before")
        out = self.work / "out"
        for function in FUNCTIONS:
            good = self.run(arguments, function, 0)
            expected = {str(f.relative_to(out)) for f in files_below(out)}
            count = int((self.work / "count").read_text())
            points = list(self.points(count, most))
            for n in points:
                self.tried += 1
                where = f"{name}, {function} {n} of {count}"
                try:
                    done = self.run(arguments, function, n)
                except subprocess.TimeoutExpired:
                    self.violations.append(f"{where}: hangs")
                    continue
                if done.returncode < 0:
                    self.violations.append(f"{where}: ended by signal {-done.returncode}")
                cut = [str(f) for f in files_below(out) if not whole(f)]
                if cut:
                    self.violations.append(f"{where}: {cut} cut short")
                missing = expected - {str(f.relative_to(out)) for f in files_below(out)}
                if done.returncode == 0 and good.returncode == 0 and missing:
                    self.violations.append(f"{where}: exit code 0 without {sorted(missing)}")
            print(f"{name:<28} {function:<7} {count:>7} calls, {len(points):>4} tried", flush=True)


def main():
    program, sources = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    most = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory(prefix="ulplab_inject_") as folder:
        trial = Trial(program, sources, pathlib.Path(folder))

        def nothing(place):
            place.mkdir()

        def weights(place):
            place.mkdir()
            subprocess.run([program, "train", "--images=64", "--batch=8", "--steps=1", "--out=w.safetensors"], cwd=place,
                           check=True, capture_output=True)

        def results(place):
            place.mkdir()
            subprocess.run([program, "run", "overflow", "--smoke"], cwd=place, check=True, capture_output=True)

        def submission(place):
            (place / "student").mkdir(parents=True)
            shutil.copy(sources / "tests/experiments/course/solutions/find_nan/solution.py", place / "student/find_nan.py")

        def grid(place):
            place.mkdir()
            (place / "g.json").write_text('{"experiment": "swamping", "mode": "smoke", "seeds": [1, 2]}')

        trial.command(["run", "overflow", "--smoke"], nothing, most)
        trial.command(["run", "--grid", "g.json"], grid, most)
        trial.command(["train", "--images=64", "--batch=8", "--steps=4", "--checkpoint=c.safetensors", "--trace=t.csv",
                       "--histograms=h.csv", "--products=p.tsv", "--out=w.safetensors"], nothing, most)
        trial.command(["quantize", "w.safetensors", "q.safetensors", "--format", "mxfp8"], weights, most)
        trial.command(["inspect", "w.safetensors", "--page", "page.html"], weights, most)
        trial.command(["grade", "find_nan", "--student", "student", "--out", "grades"], submission, most)
        trial.command(["report"], results, most)
    print(f"{trial.tried} points tried, {len(trial.violations)} violations")
    for violation in trial.violations:
        print(violation)
    return 1 if trial.violations else 0


if __name__ == "__main__":
    sys.exit(main())
