#!/usr/bin/env python3
"""What a program meets at the edges: streams that are closed or full, named pipes, links, kills, scarce descriptors, odd
arrays, damaged figures and grades. Usage: edges.py ULPLAB_PROGRAM SOURCE_FOLDER [Edges.TEST ...]"""
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(sys.argv[2]).resolve()
TRAIN = ["train", "--images=64", "--batch=8"]


def npy(descr, shape, data, fortran=False, quote="'"):
    q = quote
    header = f"{{{q}descr{q}: {q}{descr}{q}, {q}fortran_order{q}: {fortran}, {q}shape{q}: {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def safetensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class Edges(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ulplab_edges_")
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)

    def run_program(self, *arguments, **how):
        how.setdefault("timeout", 300)
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.work, capture_output=True, text=True, **how)

    def shell(self, command):
        return subprocess.run(["sh", "-c", command, "sh", PROGRAM], cwd=self.work, capture_output=True).returncode

    def good(self, *arguments, **how):
        done = self.run_program(*arguments, **how)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def refused(self, part, *arguments, code=3, **how):
        done = self.run_program(*arguments, **how)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(part, done.stderr)
        self.assertLess(len(done.stderr), 5000)
        return done

    def test_streams_that_are_closed_or_full_keep_the_exit_code(self):
        for command, code in [("formats", 0), ("show 1 --format zzz", 2), ("compare no.npy no.npy", 3)]:
            for stream in ["2>&-", "2>/dev/full", "<&-"]:
                with self.subTest(command=command, stream=stream):
                    self.assertEqual(self.shell(f'"$1" {command} {stream} >/dev/null'), code)
        for stream in [">&-", ">/dev/full"]:
            self.assertEqual(self.shell(f'"$1" formats {stream}'), 3)
        # No file takes the number of a closed stream: what is printed does not end in it.
        self.assertEqual(self.shell('"$1" train --images=64 --batch=8 --steps=1 --trace=t.csv >&- 2>&-'), 3)
        self.assertTrue((self.work / "t.csv").read_text().startswith("# ulplab trace\n"))

    def test_every_command_keeps_its_exit_code_whatever_the_streams_are(self):
        (self.work / "a.npy").write_bytes(npy("<f4", (4, 4), struct.pack("<16f", *[1 + i / 8 for i in range(16)])))
        product = "--unit sm_90:mma.bf16.fp32"
        rows = {
            "list": "", "run": "overflow --smoke", "report": "", "claims": "", "site": "", "show": "1 --format fp16",
            "formats": "", "codes": "e4m3", "inspect": "a.npy", "quantize": "a.npy q.npz --format e4m3", "models": "",
            "verify": "no.recording", "matmul": f"a.npy a.npy --out d.npy {product}", "explain": f"a.npy a.npy {product}",
            "bound": f"-k 64 {product}", "discover": "", "gpu": "info", "compare": "a.npy a.npy",
            "train": "--images=64 --batch=8 --steps=1", "diagnose": "a.npy", "search": "scale --net no.json",
            "course": "list", "grade": "find_nan --student .", "doctor": "", "dev": "page formats"}
        listed = re.findall(r"^  ([a-z]+) {2}", self.good("--help").stdout.split("Subcommands:")[1], re.MULTILINE)
        self.assertEqual(sorted(rows), sorted(listed), "each command has a row here, and each row is a command")
        for name, arguments in rows.items():
            command = f"{name} {arguments}"
            self.shell(f'"$1" {command} >out.txt 2>err.txt')  # what it leaves in the folder is there from here on
            code = self.shell(f'"$1" {command} >out.txt 2>err.txt')
            prints = (self.work / "out.txt").stat().st_size > 0
            self.assertEqual((self.work / "err.txt").stat().st_size > 0, code in (2, 3), command)
            lost = 3 if prints and code in (0, 1) else code
            for streams, expected in [("2>&- >/dev/null", code), ("2>/dev/full >/dev/null", code), ("<&- >/dev/null", code),
                                      (">&-", lost), (">/dev/full", lost), ("<&- >&- 2>&-", lost)]:
                with self.subTest(command=command, streams=streams):
                    self.assertEqual(self.shell(f'"$1" {command} {streams}'), expected)

    def test_a_trace_products_and_histograms_of_a_resumed_run_are_those_of_one_that_never_stopped(self):
        def outputs(name):
            return [f"--trace={name}.csv", f"--histograms={name}.h", f"--products={name}.p"]

        self.good(*TRAIN, "--steps=60", *outputs("whole"))
        whole = [(self.work / f"whole.{end}").read_bytes() for end in ("csv", "h", "p")]
        run = [*TRAIN, "--steps=60", "--checkpoint=c", *outputs("cut")]
        chance = random.Random(1)
        for _ in range(6):
            process = subprocess.Popen([PROGRAM, *run], cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.05, 0.8))
            process.kill()
            process.wait()
        self.good(*run)
        self.assertEqual([(self.work / f"cut.{end}").read_bytes() for end in ("csv", "h", "p")], whole)
        again = self.good(*run)
        self.assertIn("this run is finished, 60 steps of 60", again.stdout)
        self.assertEqual([(self.work / f"cut.{end}").read_bytes() for end in ("csv", "h", "p")], whole)
        # Files that do not hold the steps before are refused, and left alone.
        longer = [*TRAIN, "--steps=70", "--checkpoint=c"]
        self.refused("does not hold the first 60 steps", *longer, "--trace=new.csv")
        self.refused("does not hold the first 60 steps", *longer, "--products=new.p")
        other = (self.work / "cut.csv").read_text().splitlines()
        other[-1] = other[-1][:-1] + ("1" if other[-1][-1] == "0" else "0")
        (self.work / "other.csv").write_text("\n".join(other) + "\n")
        self.refused("does not hold the first 60 steps", *longer, "--trace=other.csv")
        self.assertEqual((self.work / "other.csv").read_text(), "\n".join(other) + "\n")
        self.good(*TRAIN, "--steps=2", "--checkpoint=plain")
        self.refused("was saved without --histograms", *TRAIN, "--steps=4", "--checkpoint=plain", "--histograms=h")

    def test_a_hangup_saves_the_checkpoint(self):
        process = subprocess.Popen([PROGRAM, *TRAIN, "--steps=1000000", "--checkpoint=c"], cwd=self.work,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=120), 129)
        self.assertTrue((self.work / "c").exists())

    def test_a_named_pipe_is_read_or_left_by_a_signal(self):
        os.mkfifo(self.work / "pipe")
        process = subprocess.Popen([PROGRAM, *TRAIN, "--steps=1", "--weights=pipe"], cwd=self.work,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        process.terminate()
        self.assertIn(process.wait(timeout=60), [3, 143, -signal.SIGTERM])
        self.refused("is not a regular file", "compare", "pipe", "pipe")

    def test_a_link_stays_and_what_it_names_is_written(self):
        (self.work / "a.npy").write_bytes(npy("<f4", (4,), struct.pack("<4f", 1, 2, 3, 4)))
        os.symlink("real.npz", self.work / "link.npz")
        self.good("quantize", "a.npy", "link.npz", "--format=e4m3")
        os.symlink("real.html", self.work / "link.html")
        self.good("inspect", "a.npy", "--page=link.html")
        os.symlink("real.c", self.work / "link.c")
        self.good(*TRAIN, "--steps=1", "--checkpoint=link.c")
        for name in ["npz", "html", "c"]:
            self.assertTrue((self.work / f"link.{name}").is_symlink())
            self.assertTrue((self.work / f"real.{name}").is_file())

    def test_a_page_is_whole_or_not_there(self):
        (self.work / "a.npy").write_bytes(npy("<f4", (4,), struct.pack("<4f", 1, 2, 3, 4)))

        def full_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.refused("cannot be written", "inspect", "a.npy", "--page=page.html", preexec_fn=full_disk)
        self.assertFalse((self.work / "page.html").exists())

    def inspected(self, file):
        found = json.loads(self.good("inspect", file, "--json").stdout)
        return found

    def test_odd_arrays_are_skipped_and_both_orders_read(self):
        rows = [1, 2, 3, 4, 5, 6]
        c_order = struct.pack("<6f", *rows)
        fortran = struct.pack("<6f", *[rows[i] for i in (0, 3, 1, 4, 2, 5)])
        for name, file in {"c": npy("<f4", (2, 3), c_order), "f": npy("<f4", (2, 3), fortran, True),
                           "q": npy("<f4", (2, 3), c_order, quote='"')}.items():
            (self.work / f"{name}.npy").write_bytes(file)
            shutil.copy(self.work / f"{name}.npy", self.work / "x.npy")
            self.good("quantize", "x.npy", f"{name}.safetensors", "--format=mxfp8", "--along=first")
        self.assertEqual(len({(self.work / f"{name}.safetensors").read_bytes() for name in "cfq"}), 1)
        for shape in ["(6,)", "(1, 6)"]:
            (self.work / "v.npy").write_bytes(npy("<f4", shape, c_order, True))
            self.good("inspect", "v.npy")
        with zipfile.ZipFile(self.work / "mixed.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("good.npy", npy("<f4", (2, 3), fortran, True))
            archive.writestr("text.npy", npy("<U2", (1,), b"a\0\0\0b\0\0\0"))
            archive.writestr("any.npy", npy("|O", (1,), b"pickle"))
        mixed = self.good("inspect", "mixed.npz").stdout
        for part in ["good (<f4, shape (2, 3))", "text (<U2): skipped", "any (|O): skipped"]:
            self.assertIn(part, mixed)
        self.good("quantize", "mixed.npz", "mixed.safetensors", "--format=e4m3")

    def test_an_archive_that_grows_a_hundred_times_is_refused(self):
        with zipfile.ZipFile(self.work / "zeros.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros.npy", npy("<f4", (1 << 25,), bytes(4 << 25)))
        self.refused("more than 100 times", "inspect", "zeros.npz")

    def test_safetensors_are_read_as_strictly_as_by_their_own_library(self):
        good = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
        for wrong in [b"\xef\xbb\xbf" + json.dumps(good).encode(), b" " + json.dumps(good).encode(),
                      {"a": dict(good["a"], data_offsets=[0, 4, 4])}, {"a": dict(good["a"], shape={"n": 1})},
                      {"\x1b[31m" + "n" * 100000: dict(good["a"], dtype="F99")}]:
            (self.work / "w.safetensors").write_bytes(safetensors(wrong, bytes(4)))
            done = self.refused("no complete safetensors file" if not isinstance(wrong, dict) or "a" in wrong else "",
                                "inspect", "w.safetensors")
            self.assertNotIn("\x1b", done.stderr)

    def test_a_hundred_thousand_tensors_are_read_in_a_second(self):
        header = {f"model.layers.{i}.weight": {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
                  for i in range(100000)}
        (self.work / "many.safetensors").write_bytes(safetensors(header, bytes(400000)))
        process = subprocess.Popen([PROGRAM, "train", "--images=64", "--steps=1", "--weights=many.safetensors"],
                                   cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(process.pid, 0)
        print(f"100,000 tensors: {usage.ru_utime + usage.ru_stime:.2f} s of a processor, {usage.ru_maxrss >> 10} MiB")
        self.assertLess(usage.ru_utime, 6)
        self.assertLess(usage.ru_maxrss >> 10, 400)

    def test_figures_are_those_of_the_manifest(self):
        self.good("run", "overflow", "--smoke")
        folder = self.work / "out/overflow"
        if not list(folder.glob("*.svg")):
            self.skipTest("no gnuplot")
        drawing = sorted(folder.glob("*.svg"))[0]
        drawn = drawing.read_bytes()
        drawing.write_bytes(drawn[:len(drawn) // 2])
        self.good("report")
        pages = "".join(page.read_text() for page in (self.work / "out").glob("*.html"))
        self.assertIn("Not drawn", pages)
        self.good("run", "overflow", "--smoke")  # complete, but for this figure
        self.assertEqual(drawing.read_bytes(), drawn)
        figures = folder / "figures.json"
        figures.write_text(figures.read_text().replace("title", "titel", 1))
        self.refused("are not those that its manifest names", "report", "--draw", "overflow")

    def test_pipes_in_a_received_folder_make_nobody_wait_and_names_outside_are_not_opened(self):
        self.good("run", "overflow", "--smoke")
        folder = self.work / "out/overflow"
        os.mkfifo(self.work / "pipe")
        whole = json.loads((folder / "manifest.json").read_text())
        changed = dict(whole, results=whole["results"] | {"../../pipe": "0" * 64, str(self.work / "pipe"): "0" * 64},
                       drawings=whole["drawings"] | {"../../pipe": "0" * 64})
        (folder / "manifest.json").write_text(json.dumps(changed))
        for command in (["claims"], ["report"], ["run", "overflow", "--smoke"], ["report", "--draw", "overflow"]):
            self.good(*command, timeout=60)
        for name in ["figures.json", "result.json", "manifest.json"]:
            os.rename(folder / name, self.work / name)
            os.mkfifo(folder / name)
            for command in (["claims"], ["report"], ["report", "--draw", "overflow"]):
                done = self.run_program(*command, timeout=60)
                self.assertIn(done.returncode, [0, 3], f"{name} {command} {done.stderr}")
            os.unlink(folder / name)
            os.rename(self.work / name, folder / name)
        os.rename(folder / "figures.json", self.work / "figures.json")
        os.mkfifo(folder / "figures.json")
        self.good("run", "overflow", "--smoke", timeout=60)  # not complete, so once more
        self.assertEqual((folder / "figures.json").read_bytes(), (self.work / "figures.json").read_bytes())

    def test_the_texts_of_a_received_record_reach_no_terminal_as_they_are(self):
        self.good("run", "overflow", "--smoke")
        folder = self.work / "out/overflow"
        record, manifest = folder / "result.json", folder / "manifest.json"
        changed = json.loads(record.read_text())
        changed["claims"][0]["statement"] = "\x1b]0;title\x07 says"
        record.write_text(json.dumps(changed))
        digests = json.loads(manifest.read_text())
        digests["results"]["result.json"] = hashlib.sha256(record.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(digests))
        for command in (["claims"], ["report"], ["run", "overflow", "--smoke"]):
            self.refused("holds control characters", *command)

    def test_a_kept_grade_is_of_the_same_files_tools_and_exercises(self):
        student = self.work / "class/\x1b[31mred"
        student.mkdir(parents=True)
        shutil.copy(SOURCES / "tests/experiments/course/solutions/find_nan/solution.py", student / "find_nan.py")
        arguments = ["grade", "find_nan", "--class", "class", "--out", "grades"]
        first = self.good(*arguments)
        self.assertNotIn("\x1b", first.stdout)
        self.assertIn("(as before)", self.good(*arguments).stdout)
        kept = self.work / "grades" / student.name / "grade.json"
        grade = json.loads(kept.read_text())
        for damage in [json.dumps(dict(grade, scores=[99])), json.dumps(dict(grade, scores=[])), "{", "[]",
                       json.dumps(dict(grade, digest=3)), json.dumps(dict(grade, scores="5"))]:
            kept.write_text(damage)
            self.assertNotIn("(as before)", self.good(*arguments).stdout, damage)
            self.assertEqual(json.loads(kept.read_text()), grade)
        python = self.work / "python"
        python.write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
        python.chmod(0o755)
        self.assertNotIn("(as before)", self.run_program(*arguments, env=dict(os.environ, PYTHON=str(python))).stdout)

    def test_scarce_descriptors_give_no_grade(self):
        (self.work / "student").mkdir()
        shutil.copy(SOURCES / "tests/experiments/course/solutions/find_nan/solution.py", self.work / "student/find_nan.py")
        for most in range(6, 24):
            done = self.run_program("grade", "find_nan", "--student", "student",
                                    preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            self.assertIn(done.returncode, [0, 3, 127], f"{most} descriptors: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
