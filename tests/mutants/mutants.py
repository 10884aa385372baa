#!/usr/bin/env python3
"""Point mutants: does a test notice when one expression of the sources is wrong? In a copy of the tree,
build/mutants/tree, each chosen expression becomes (mutant(N) ? wrong : right); one build holds them all, and
ULPLAB_MUTANT=N switches one on.
Each runs the test cases that reach it, the quickest first, until one fails. No test has shared data.

Usage: mutants.py [--day [DATE]] [--file PART] [--programs LIST] [--jobs N] [--seconds N] [--again] [--list] [--report]
  --day      twenty mutants of one test program of known.py's DAY, chosen by the date (2026-11-27; today's without one);
             builds and runs that program alone, keeps nothing found, and leaves out what alive.txt names
  --file     those whose file's path holds PART
  --programs builds and runs these test programs alone, such as numbers,quantization,python, with their files' mutants
  --seconds  ends after so many seconds; what was found is kept in build/mutants/found.json and not run again
  --again    runs those that were alive again
  --list     prints the mutants and runs none
  --report   prints the table of what was found before and runs none
  --write    with --report, writes alive.txt: the mutants that are alive, and of DAY's programs those that only others kill
Exit code 1 where a mutant is alive that neither known.py nor alive.txt names."""
import argparse
import ast
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from known import BY_HAND, DAY, EQUIVALENT, FILES, PROGRAMS, PYTHON_TESTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build/mutants"
ALIVE = pathlib.Path(__file__).with_name("alive.txt")
MOST = 65536  # numbers of mutants, as in mutant.hpp
MOST_SECONDS = 600  # for one test case, and for those that a mutant survives
TREE, BUILD = WORK / "tree", WORK / "build"

# What binds less tightly ends an operand.
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"],
          ["*", "/", "%"]]
LEVEL = {op: i for i, ops in enumerate(LEVELS) for op in ops}
WRONG = {"||": "&&", "&&": "||", "|": "&", "^": "|", "&": "|", "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=",
         ">=": ">", "<<": ">>", ">>": "<<", "+": "-", "-": "+", "*": "+", "/": "*", "%": "/"}
OPERATOR = re.compile(r" (\|\||&&|==|!=|<=|>=|<<|>>|[<>+\-*/%|&^]) ")
STATEMENT = re.compile(r"\s+(?!return|throw|else|case|delete|goto|break|continue)[\w.\[\]>:*()-]+"
                       r"( [-+*/|&^]?= .*|\(.*\));$")
SKIPPED = re.compile(r"^\s*(//|#|\*|static_assert|using|template|namespace|case |default:|friend|public:|throw )|"
                     r"\b(constexpr|consteval|requires|typename|enum|asm|fmt::|operator|class|struct|sizeof)\b|"
                     r"std::cout|throw |\b(in_parallel|each_part)\([^?]*, ")  # these: by how many threads, not what


def masked(line):
    """The line with its texts and comments blank."""
    line = re.sub(r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])+'(?!\w)", lambda m: "_" * len(m.group()), line)
    return re.sub(r"//.*", lambda m: ";" + "\0" * (len(m.group()) - 1), line)


def closing(text, at):
    """The place after the bracket that closes the one at `at`, or -1."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i + 1
    return -1


def operands(text, match, fresh):
    """Begin and end of the expression around a binary operator, or None where it crosses the line."""
    level = LEVEL[match[1]]
    begin, depth = None, 0
    i = match.start()
    while i > 0 and begin is None:
        c = text[i - 1]
        depth += (c in ")]}") - (c in "([{")
        stop = re.search(r"( [^\w\s()[\]]+|\breturn|[,;]) $", text[:i])
        if depth < 0 or depth == 0 and (c in ",;?" or stop and LEVEL.get(stop[1].strip(), -1) < level):
            begin = i
        i -= 1
    if begin is None:
        begin = len(text) - len(text.lstrip())
        if not fresh:
            return None
    end, depth = None, 0
    for i in range(match.end(), len(text)):
        c = text[i]
        depth += (c in "([{") - (c in ")]}")
        next_operator = re.match(r" (\S+) ", text[i:])
        word = next_operator[1] if next_operator else ""
        next_level = LEVEL.get(word, -1 if re.fullmatch(r"[?:]|[-+*/|&]?=", word) else 99)
        if depth < 0 or (depth == 0 and (c in ",;" or next_level <= level)):
            end = i
            break
    return (begin, end) if end is not None and text[begin:match.start()].strip() else None


def candidates(line, before):
    """(kind, the line's beginning, wrong, right, the line's end) of each mutant of a line of C++."""
    text = masked(line)
    if SKIPPED.search(text) or not line.startswith("    ") and not re.search(r"\{ return .*\}", text):
        return
    fresh = before.rstrip().endswith((";", "{", "}", ":")) or before.strip().startswith("//") or not before.strip()
    choose = "(::ulp::mutant(@) ? {} : {})"
    if (m := re.search(r"\bif \(", text)) and (end := closing(text, m.end() - 1)) > 0:
        if not re.search(r"[;=] ", re.sub(r"[=!<>]= ", "", text[m.end():end])):
            condition = line[m.end():end - 1]
            yield "condition", line[:m.end()], f"::ulp::mutant(@) != static_cast<bool>({condition})", line[end - 1:]
    for m in OPERATOR.finditer(text):
        if m[1] in ("<<", ">>") and re.search(r"\b(out|stream|text|error|is|std::cerr)\b", text[:m.start()]):
            continue
        if m[1] in "+/" and re.search(r'"\)*$|^\(*"', line[:m.start()] + "\n" + line[m.end():], re.MULTILINE):
            continue  # texts and paths have no other operator
        if found := operands(text, m, fresh):
            begin, end = found
            wrong = line[begin:m.start()] + f" {WRONG[m[1]]} " + line[m.end():end]
            yield "operator " + m[1], line[:begin], choose.format(wrong, line[begin:end]), line[end:]
    for m in re.finditer(r"(?<!\de-)(?<![\w.'\"])\d+(?![\w.'>])", text):
        if not re.search(r"[<]$", text[:m.start()]):
            yield "constant", line[:m.start()], choose.format(f"{m[0]} + 1", m[0]), line[m.end():]
    for m in re.finditer(r"\b(true|false)\b(?![^(]*>)", text):
        yield "truth", line[:m.start()], f"(::ulp::mutant(@) != {m[0]})", line[m.end():]
    for m in re.finditer(r"std::(min|max)(<\w+>)?\(", text):
        if (end := closing(text, m.end() - 1)) > 0:
            rest = line[m.end(1):end]
            other = {"min": "max", "max": "min"}[m[1]]
            yield "extreme", line[:m.start()], choose.format(f"std::{other}{rest}", f"std::{m[1]}{rest}"), line[end:]
    if fresh and STATEMENT.fullmatch(text.rstrip("\0").rstrip()) and text.count("(") == text.count(")"):
        indent = len(line) - len(line.lstrip())
        yield "left out", line[:indent], f"if (!::ulp::mutant(@)) {line[indent:]}", ""


def python_candidates(source):
    """The same of a Python file: by line, from its syntax tree."""
    swaps = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
             ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "+",
             ast.LShift: ">>"}
    lines = source.split("\n")

    def text(node):
        return lines[node.lineno - 1][node.col_offset:node.end_col_offset]

    tree = ast.parse(source)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (each for statement in function.body for each in ast.walk(statement)):
            if not hasattr(node, "lineno") or node.lineno != node.end_lineno or not lines[node.lineno - 1].isascii():
                continue
            line = lines[node.lineno - 1]
            wrong = None
            if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in swaps:
                wrong = f"{text(node.left)} {swaps[type(node.ops[0])]} {text(node.comparators[0])}"
            elif isinstance(node, ast.BinOp) and type(node.op) in swaps and not re.search("['\"]", text(node)):
                wrong = f"{text(node.left)} {swaps[type(node.op)]} {text(node.right)}"
            elif isinstance(node, ast.IfExp):
                wrong = f"{text(node.orelse)} if {text(node.test)} else {text(node.body)}"
            elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
                other = "or" if isinstance(node.op, ast.And) else "and"
                wrong = f"{text(node.values[0])} {other} {text(node.values[1])}"
            elif isinstance(node, ast.Constant) and type(node.value) in (int, bool) and not re.search("f['\"]", line):
                wrong = repr(not node.value) if isinstance(node.value, bool) else repr(node.value + 1)
            if wrong:
                right = text(node)
                yield node.lineno - 1, (type(node).__name__, line[:node.col_offset],
                                        f"(({wrong}) if _mutant(@) else ({right}))", line[node.end_col_offset:])


def compile_time(lines):
    """The lines inside of what the compiler computes, where no mutant can be switched on."""
    found, inside = set(), False
    for i, line in enumerate(lines):
        inside = inside or bool(re.search(r"\bconstexpr\b.* = .*[{(,]$", line))
        found |= {i} if inside else set()
        inside = inside and not line.rstrip().endswith(";")
    return found


def mutants_of(file, share):
    """[(place, name, line number, the new line)]: those by hand, and one of this share of the other lines, by rule."""
    source = (ROOT / file).read_text()
    lines = source.split("\n")
    chosen = {}
    for where, old, new in BY_HAND:
        if where == file:
            found = [i for i, line in enumerate(lines) if old in line]
            if len(found) != 1:
                raise SystemExit(f"known.py: '{old}' is in {len(found)} lines of {file}, not in one")
            i = found[0]
            wrong = (f"if (::ulp::mutant(@)) {{ {new} }} else {{ {old} }}" if old.endswith(";") else
                     f"(::ulp::mutant(@) ? {new} : {old})")
            chosen[i] = (f"by hand: {old} -> {new}", lines[i].replace(old, wrong, 1))
    by_line = {}
    if file.endswith(".py"):
        for i, candidate in python_candidates(source):
            by_line.setdefault(i, []).append(candidate)
    else:
        tables = compile_time(lines)
        for i in sorted(set(range(1, len(lines))) - tables):
            for candidate in candidates(lines[i], lines[i - 1]):
                by_line.setdefault(i, []).append(candidate)
    for i in by_line:
        # By the line's text, so that a change elsewhere in the file leaves the choice as it is.
        place = int(hashlib.sha256((file + lines[i]).encode()).hexdigest()[:8], 16) / 2**32
        if i in chosen or lines.count(lines[i]) != 1 or place >= share:
            continue
        kinds = sorted({c[0] for c in by_line[i]})
        chance = random.Random(file + lines[i])
        kind = chance.choice(kinds)
        _, begin, changed, end = chance.choice([c for c in by_line[i] if c[0] == kind])
        chosen[i] = (f"{kind}: {changed}", begin + changed + end)
    return [(f"{file}:{i + 1}", name, i, new) for i, (name, new) in sorted(chosen.items())]


class Mutant:
    def __init__(self, key, number, place, name, index, new, old):
        self.number, self.place, self.name, self.index, self.new, self.old = number, place, name, index, new, old
        self.file = place.rsplit(":", 1)[0]
        self.program = FILES[self.file][1]
        self.key = key

    def equivalent(self):
        for file, part, kind, reason in EQUIVALENT:
            if file == self.file and part in self.old and self.name.startswith(kind):
                return reason
        return None


def all_mutants():
    mutants, numbers, keys = [], set(), set()
    dropped = set(json.loads((WORK / "dropped.json").read_text())) if (WORK / "dropped.json").exists() else set()
    for file, (share, _) in FILES.items():
        lines = (ROOT / file).read_text().split("\n")
        for place, name, i, new in mutants_of(file, share):
            key = hashlib.sha256(f"{file}|{name}|{lines[i].strip()}".encode()).hexdigest()[:12]
            # A number of its own, which stays when other mutants come and go: little is compiled again.
            number = int(key, 16) % MOST
            while number in numbers:
                number = (number + 1) % MOST
            numbers.add(number)
            key += "b" if key in keys else ""  # the same words in two lines
            keys.add(key)
            if key not in dropped:
                mutants.append(Mutant(key, number, place, name, i, new, lines[i]))
    return mutants


def write_if_changed(file, text):
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def write_tree(mutants):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [  # no checkout
        str(file.relative_to(ROOT)) for folder in ROOT.iterdir() if folder.name not in ("build", "out", ".git")
        for file in [folder, *folder.rglob("*")]]
    mutated = {m.file for m in mutants} | set(FILES)
    for name in filter(None, names):
        source, target = ROOT / name, TREE / name
        if name in mutated or not source.is_file():
            continue
        before, now = target.stat() if target.exists() else None, source.stat()
        if before is None or before.st_mtime < now.st_mtime or before.st_size != now.st_size:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    by_file = {}
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    for file in sorted(mutated):
        lines = (ROOT / file).read_text().split("\n")
        for mutant in by_file.get(file, []):
            lines[mutant.index] = mutant.new.replace("@", str(mutant.number))
        if file.endswith(".py"):
            # After the module's description and its imports from __future__.
            last = max((n.end_lineno for n in ast.parse((ROOT / file).read_text()).body
                        if isinstance(n, ast.ImportFrom) and n.module == "__future__"
                        or isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)), default=0)
            lines.insert(last, "from ._mutants import mutant as _mutant")
        write_if_changed(TREE / file, "\n".join(lines))
    write_if_changed(TREE / "engine/python/ulplab/_mutants.py", PYTHON_SWITCH)


PYTHON_SWITCH = '''import os
_chosen = int(os.environ.get("ULPLAB_MUTANT", "-1"))
_file = os.environ.get("ULPLAB_MUTANTS_REACHED")
def mutant(number):
    if _file:
        with open(_file, "r+b" if os.path.exists(_file) else "w+b") as reached:
            reached.seek(number)
            reached.write(b"\\1")
    return number == _chosen
'''


def build(jobs, programs):
    """Configures and builds. Mutants that the compiler refuses are dropped: they need no test."""
    write_tree(all_mutants())
    if not (BUILD / "build.ninja").exists():
        header = pathlib.Path(__file__).with_name("mutant.hpp")
        environment = ROOT / "build/release/venv/bin/python"
        subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DULPLAB_GPU=OFF",
                        *([f"-DPython_EXECUTABLE={environment}"] if environment.exists() else []),
                        f"-DCMAKE_CXX_FLAGS_RELEASE=-O1 -w -Wno-narrowing -include {header}"],
                       check=True, stdout=subprocess.DEVNULL)
    while True:
        mutants = all_mutants()
        write_tree(mutants)
        targets = [f"test_{name}" for name in programs if name != "python"]
        targets += ["ulplab", "ulplab_python"] if "python" in programs else []
        done = subprocess.run(["ninja", "-C", BUILD, f"-j{jobs}", "-k", "0", *targets], capture_output=True, text=True)
        if done.returncode == 0:
            return mutants
        output = done.stdout + done.stderr
        (WORK / "build.log").write_text(output)
        at = {(m.file, m.index + 1): m for m in mutants}
        named = {(m[1], int(m[2])) for m in re.finditer(r"tree/([\w./]+):(\d+)", output)}
        blamed = {mutant.key for place, mutant in at.items() if place in named}
        if not blamed:
            raise SystemExit(f"The mutants' build fails; see {WORK / 'build.log'}")
        file = WORK / "dropped.json"
        dropped = set(json.loads(file.read_text())) if file.exists() else set()
        file.write_text(json.dumps(sorted(dropped | blamed)))
        print(f"{len(blamed)} mutants do not compile and are dropped", flush=True)


def commands(programs):
    """{name of a test case: its command}."""
    found = {}
    for program in sorted(set(programs) - {"python"}):
        file = BUILD / f"tests/test_{program}"
        listed = subprocess.run([file, "--list-test-cases", "--no-intro"], capture_output=True, text=True).stdout
        for case in listed.split("\n"):
            if case and not case.startswith(("[doctest]", "====")):
                pattern = re.sub(r"([,\\])", r"?", case)
                found[f"{program}: {case}"] = [str(file), f"--test-case={pattern}", "--abort-after=1"]
    environment = ROOT / "build/release/venv/bin/python"
    if environment.exists() and "python" in programs:
        for test in PYTHON_TESTS:
            files = [ROOT / "tests/engine/python/run_pytest.sh", environment, BUILD / "python", BUILD / "bin/ulplab",
                     ROOT / "tests/engine/python" / test]
            found[f"python: {test}"] = [str(file) for file in files]
    return found


def run(command, seconds, **variables):
    environment = {k: v for k, v in os.environ.items() if k != "ULPLAB_SHARED"}
    # What is read beyond memory's end is garbage, not by chance 0.
    environment.update(variables, OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="2", MALLOC_PERTURB_="165")
    process = subprocess.Popen(command, cwd=WORK, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, b""


def covered(mutants, all_commands, jobs):
    """{test case: [seconds, mutants that it reaches]}, of each that passes without a mutant within that time."""
    file = WORK / "reached.json"
    digest = hashlib.sha256(repr([(m.key, m.number) for m in mutants]).encode()).hexdigest()
    kept = json.loads(file.read_text()) if file.exists() else {}
    tests = kept["tests"] if kept.get("digest") == digest else {}
    for name, command in all_commands.items():  # what was built since may reach others
        if any(os.path.isfile(part) and os.path.getmtime(part) > file.stat().st_mtime for part in command if tests):
            tests.pop(name, None)

    def measure(item):
        name, command = item
        reached = WORK / f"reached_{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        reached.unlink(missing_ok=True)
        begin = time.monotonic()
        code, output = run(command, MOST_SECONDS, ULPLAB_MUTANTS_REACHED=str(reached))
        seconds = time.monotonic() - begin
        found = [i for i, b in enumerate(reached.read_bytes()) if b] if reached.exists() else []
        reached.unlink(missing_ok=True)
        if code != 0:
            why = "too long" if code is None else f"fails with {code}"
            print(f"left out, {why} without a mutant: {name}", flush=True)
            return name, None
        return name, [seconds, found]

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tests.update(pool.map(measure, [item for item in all_commands.items() if not tests.get(item[0])]))
    file.write_text(json.dumps({"digest": digest, "tests": tests}))
    return {name: value for name, value in tests.items() if value and name in all_commands}


def judge(mutant, tests, all_commands):
    near = sorted((not name.startswith(mutant.program + ":"), seconds, name)
                  for name, (seconds, reached) in tests.items() if mutant.number in set(reached))
    spent, ran = 0.0, 0
    for _, seconds, name in near:
        begin = time.monotonic()
        code, output = run(all_commands[name], 10 * seconds + 10, ULPLAB_MUTANT=str(mutant.number))
        ran += 1
        if code != 0:
            return {"verdict": "killed", "by": name + (", by its time" if code is None else "")}
        spent += time.monotonic() - begin
        if spent > MOST_SECONDS:
            break
    verdict = "alive" if near else "alive, not reached"
    return {"verdict": verdict, "by": f"{ran} of {len(near)} test cases that reach it"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--day", nargs="?", const=str(datetime.date.today()))
    parser.add_argument("--file", default="")
    parser.add_argument("--programs", type=lambda text: text.split(","), default=[*PROGRAMS, "python"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e9)
    for flag in ("--again", "--list", "--report", "--write"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    found_file = WORK / "found.json"
    found = json.loads(found_file.read_text()) if found_file.exists() and not options.day else {}
    known = {row.split()[0]: row for row in ALIVE.read_text().splitlines()} if ALIVE.exists() else {}
    mutants = all_mutants()
    wanted = {m.key for m in mutants if options.file in m.file}
    if options.day:
        chance = random.Random(options.day)
        options.programs = [chance.choice(DAY)]
        of_day = [m.key for m in mutants if m.program in options.programs and m.key not in known and not m.equivalent()]
        wanted = set(chance.sample(of_day, min(20, len(of_day))))
        print(f"{len(wanted)} mutants for {options.programs[0]}; none of the {len(known)} in alive.txt", flush=True)
    if not (options.list or options.report):
        mutants = build(options.jobs, options.programs)
    wanted = [m for m in mutants if m.key in wanted]
    if options.list:
        for m in wanted:
            print(f"{m.number:4} {m.place}  {m.name}")
        stale = [row[:2] for row in EQUIVALENT if not any(row[0] == m.file and row[1] in m.old for m in mutants)]
        if stale:
            raise SystemExit(f"known.py names as equivalent what is no mutant: {stale}")
        if stale := [row for key, row in known.items() if key not in {m.key for m in mutants}]:
            raise SystemExit("alive.txt names what is no mutant; remove: " + "; ".join(stale))
        return 0
    if not options.report:
        all_commands = commands(options.programs)
        tests = covered(mutants, all_commands, options.jobs)
        end = time.monotonic() + options.seconds
        run_now = [m for m in wanted if not m.equivalent() and m.program in options.programs and
                   (m.key not in found or options.again and found[m.key]["verdict"] != "killed")]
        random.Random(1).shuffle(run_now)

        def one(m):
            verdict = judge(m, tests, all_commands) if time.monotonic() < end else None
            final = m.program in DAY or {*PROGRAMS, "python"} <= set(options.programs)
            return m, verdict if final or verdict and "not reached" not in verdict["verdict"] else None

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for m, verdict in pool.map(one, run_now):
                if verdict:
                    found[m.key] = verdict
                    if not options.day:
                        found_file.write_text(json.dumps(found, indent=0))
                    print(f"{verdict['verdict']:<18} {m.place}  {m.name[:150]}  [{verdict['by']}]", flush=True)
    kinds = ("killed", "alive", "equivalent", "not run")
    verdicts = {m: found.get(m.key, {}).get("verdict", "not run") for m in wanted}
    counts = collections.Counter((file, "equivalent" if m.equivalent() else verdict.split(",")[0])
                                 for m, verdict in verdicts.items() for file in (m.file, "all"))
    for file in ("file", *sorted({m.file for m in wanted}), "all"):
        print(f"{file:<55}" + "".join(f"{kind if file == 'file' else counts[file, kind]:>12}" for kind in kinds))
    alive = [m for m in wanted if verdicts[m].startswith("alive") and not m.equivalent()]
    for m in alive:
        print(f"{verdicts[m]}: {m.place}  {m.name}")
    ran = counts["all", "killed"] + len(alive)
    print(f"{counts['all', 'killed']} of {ran} killed ({100 * counts['all', 'killed'] / max(1, ran):.1f} %)")
    if options.write:
        ALIVE.write_text("".join(f"{m.key} {m.place} {found[m.key]['verdict']}, {found[m.key]['by']}\n" for m in wanted
                                 if m.key in found and not found[m.key]["by"].startswith(m.program + ":")
                                 and (m.program in DAY or m in alive) and not m.equivalent()))
    return 1 if any(m.key not in known for m in alive) else 0


if __name__ == "__main__":
    sys.exit(main())
