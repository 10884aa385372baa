"""The public tests around your Python file, with nothing but Python 3.8 or later. In an exercise's folder:

    python3 ../public_tests.py            (Windows: py ..\\public_tests.py)

Another file than public.txt may be named: your own tests, or a case that the grader printed.
"""
import os
import struct
import sys
import traceback

sys.path[:0] = [os.getcwd(), os.path.dirname(os.path.abspath(__file__))]
from words import single  # noqa: E402


def letter_at(notation, index):
    opening = notation.find("(")
    if opening < 0:
        return notation[min(index, len(notation) - 1)]
    if index < opening:
        return notation[index]
    repeated = notation[opening + 1:-1]
    return repeated[(index - opening) % len(repeated)]


def parse(notation, text):
    words = []
    for token in text.split():
        token, _, count = token.partition("*")
        value = int(token, 10 if letter_at(notation, len(words)) == "i" else 16) & 0xFFFFFFFF
        words += [value] * int(count or 1)
    return words


def text_of(letter, word):
    if letter == "i":
        return str(word - (1 << 32) if word >> 31 else word)
    if letter not in "hs":
        return "%02X" % word
    value = struct.unpack("<e", struct.pack("<H", word & 0xFFFF))[0] if letter == "h" else single(word)
    return "%0*X (%.9g)" % (4 if letter == "h" else 8, word, value)


def same(letter, a, b):
    return a == b or (letter == "s" and single(a) != single(a) and single(b) != single(b))


def complaint(notation, got, expected):
    if len(got) != len(expected):
        return "%d words were answered, not %d" % (len(got), len(expected))
    for i, (a, b) in enumerate(zip(got, expected)):
        letter = letter_at(notation, i)
        if not same(letter, a & 0xFFFFFFFF, b):
            return "word %d: expected %s, got %s" % (i + 1, text_of(letter, b), text_of(letter, a & 0xFFFFFFFF))
    return ""


def main():
    import notation
    from adapter import answer
    name = sys.argv[1] if len(sys.argv) > 1 else "public.txt"
    tests = right = 0
    for number, row in enumerate(open(name), 1):
        row = row.split("#")[0].strip()
        if not row:
            continue
        question, expected = row.split("->")
        tests += 1
        try:
            wrong = complaint(notation.ANSWER, [int(word) for word in answer(parse(notation.QUESTION, question))],
                              parse(notation.ANSWER, expected))
        except Exception:
            wrong = traceback.format_exc(limit=-1).strip().replace("\n", "\n  ")
        if wrong:
            print("line %d: %s\n  %s" % (number, row[:200], wrong))
        else:
            right += 1
    print("%d of %d" % (right, tests))
    return 0 if right == tests and tests > 0 else 1


sys.exit(main())
