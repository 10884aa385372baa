"""Makes a class as Canvas downloads it, of right and mistaken programs.

Usage: make_class.py SOLUTIONS FOLDER STUDENTS [EXERCISE...]
Every third student is right in everything. Prints the exercises with the mistakes that were planted, and in how many programs.
"""
import collections
import pathlib
import sys


def mistaken(folder):
    """The programs of mistakes.diff, by id."""
    solution = "\n" + (folder / "solution.cpp").read_text()
    programs = {}
    for part in (folder / "mistakes.diff").read_text().split("\n== ")[1:]:
        name, _, hunks = part.partition("\n")
        program = solution
        for hunk in (hunks + "\n").split("@@\n"):
            lines = [line for line in hunk.rstrip("\n").split("\n") if line and line[0] in " +-"]
            before = "\n" + "".join(line[1:] + "\n" for line in lines if line[0] != "+")
            after = "\n" + "".join(line[1:] + "\n" for line in lines if line[0] != "-")
            if lines:
                assert before in program, (folder.name, name)
                program = program.replace(before, after)
        programs[name.strip()] = program
    return programs


def main(solutions, folder, students, names):
    solutions, folder, students = pathlib.Path(solutions), pathlib.Path(folder), int(students)
    folder.mkdir()
    exercises = [path for path in sorted(solutions.iterdir()) if path.is_dir() and (not names or path.name in names)]
    wrong = {path.name: sorted(mistaken(path).items()) for path in exercises}
    planted = collections.Counter()
    rows = ["id,name,email,section"]
    for i in range(students):
        rows.append('%d,"Student, %03d",s%03d@example.org,%d' % (1000 + i, i, i, 1 + i % 4))
        for path in exercises:
            programs = wrong[path.name]
            program, extension = (path / "solution.cpp").read_text(), "cpp"
            if i % 3 and programs:
                mistake, program = programs[(i - i // 3 - 1) % len(programs)]
                planted[path.name, mistake] += 1
            elif i % 6 == 3 and (path / "solution.py").exists():
                program, extension = (path / "solution.py").read_text(), "py"
            name = "student%03d_%d_%d_%s.%s" % (i, 1000 + i, 90000 + i, path.name, extension)
            (folder / name).write_text(program)
    (folder / "roster.csv").write_text("\n".join(rows) + "\n")
    for (exercise, mistake), count in sorted(planted.items()):
        print(exercise, mistake, count)


main(*sys.argv[1:4], sys.argv[4:])
