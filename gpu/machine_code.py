#!/usr/bin/env python3
"""Counts the instructions of kernels in machine code of sm_90, by class and by loop. No GPU and no disassembler needed.

    gpu/machine_code.py FILE KERNEL                          each kernel whose name holds KERNEL: all of it, and each loop
    gpu/machine_code.py FILE KERNEL --list FIRST LAST        the operations between two addresses, and where branches go
    gpu/machine_code.py FILE KERNEL --path FIRST LAST [ADDRESS ...]
                                                             what runs from FIRST to LAST where only the conditional
                                                             branches at these addresses are taken

FILE: a .cu of the project, which is compiled for sm_90a as the build does (nvcc in PATH or /usr/local/cuda/bin), or a
.cubin. Addresses are hexadecimal. A loop's iteration may leave out what its branches pass over: --path tells.
"""
import collections
import os
import shutil
import struct
import subprocess
import sys
import tempfile

# NVIDIA publishes the names, not the numbers; tests/gpu/machine_code.sh compiles code that must have these operations.
# The number is bits 0 to 11 of 128: the operation in the low 9, with bits 9 to 11 the kind of the second operand.
CLASSES = {
    "integer": {0x10: "IADD3", 0x11: "LEA", 0x12: "LOP3", 0x13: "IABS", 0x16: "PRMT", 0x17: "IMNMX", 0x19: "SHF",
                0x02: "MOV", 0x07: "SEL", 0x0C: "ISETP", 0x0F: "VIMNMX3", 0x36: "VIADD", 0x46: "VIADDMNMX",
                0x48: "VIMNMX"},
    "multiply": {0x24: "IMAD", 0x25: "IMAD.WIDE", 0x27: "IMAD.HI"},
}
WHOLE = {  # of all 12 bits
    "integer": {0x81C: "PLOP3", 0x803: "P2R", 0x804: "R2P"},
    "shared": {0x984: "LDS", 0x988: "STS", 0x388: "STS", 0x38C: "ATOMS", 0x98C: "ATOMS"},
    "global": {0x981: "LDG", 0x986: "STG", 0x98E: "RED", 0x9A8: "ATOMG", 0x983: "LDL", 0x387: "STL"},
    "constant": {0xB82: "LDC", 0xAB9: "ULDC"},
    "control": {0x947: "BRA", 0x945: "BSSY", 0x941: "BSYNC", 0x942: "BREAK", 0x94D: "EXIT", 0x944: "CALL", 0x950: "RET",
                0x948: "WARPSYNC", 0xB1D: "BAR", 0x918: "NOP"},
    "other": {0x300: "FLO", 0x309: "POPC", 0x919: "S2R", 0x805: "CS2R", 0x2BD: "UFLO", 0x2BF: "UPOPC", 0x589: "SHFL",
              0x886: "VOTEU"},
}
BRANCH, CALL = 0x947, 0x944


def operation(low):
    """(class, name) of an instruction's low 64 bits."""
    number = low & 0xFFF
    for kind, names in WHOLE.items():
        if number in names:
            return kind, names[number]
    if number & 0x180 == 0x80:  # the uniform datapath's twin of an operation
        alike = [names[number & 0x7F] for names in CLASSES.values() if number & 0x7F in names]
        return "uniform", "U" + (alike[0] if alike else "0x%03X" % number)
    for kind, names in CLASSES.items():
        if number & 0x1FF in names and number >> 9 != 0:
            return kind, names[number & 0x1FF]
    return "other", "0x%03X" % number


def target(address, low, high):
    """Where a branch goes: a signed distance in words, its low byte in bits 16 to 23, the others from bit 34 on."""
    distance = (low >> 34) | ((high & 0x3FFFF) << 30)
    distance -= (distance >> 47) << 48
    return address + 16 + 4 * ((distance << 8) | (low >> 16 & 0xFF))


def unconditional(low, high):
    """No guard: the predicate is PT, not negated, and so is the branch's own."""
    return low >> 12 & 0xF == 7 and high >> 23 & 7 == 7


def kernels(path):
    """(name, {address: (low, high)}) of each kernel of a cubin."""
    if not os.path.isfile(path):
        sys.exit("machine_code.py: there is no file %s" % path)
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x7fELF":
        sys.exit("machine_code.py: %s is no cubin" % path)
    start, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    for section in sections:
        name = data[sections[names][4] + section[0]:].split(b"\0", 1)[0].decode()
        if name.startswith(".text."):
            yield name[6:], {i: struct.unpack_from("<QQ", data, section[4] + i) for i in range(0, section[5], 16)}


def text(instructions):
    found = collections.Counter(operation(low) for low, _ in instructions)
    classes = collections.Counter()
    for (kind, _), times in found.items():
        classes[kind] += times
    lines = ["%d instructions: %s" % (found.total(), ", ".join("%s %d" % pair for pair in classes.most_common()))]
    lines.append(" ".join("%s %d" % (name, times) for (_, name), times in found.most_common()))
    return "\n    ".join(lines)


def compiled(source, folder):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        sys.exit("machine_code.py: no nvcc in PATH or /usr/local/cuda/bin")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    cubin = os.path.join(folder, "kernels.cubin")
    subprocess.run([nvcc, "-std=c++20", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "--fmad=false", "-arch=sm_90a",
                    "-I" + root, "-cubin", "-o", cubin, source], check=True)
    return cubin


def show(name, code, arguments):
    print(name)
    if not arguments:
        print("    " + text(code.values()))
        for address, (low, high) in code.items():
            if low & 0xFFF == BRANCH and target(address, low, high) < address:
                first = target(address, low, high)
                print("loop %x to %x: %s" % (first, address, text(code[i] for i in range(first, address + 16, 16))))
        return
    first, last = (int(word, 16) for word in arguments[1:3])
    if arguments[0] == "--list":
        for address in range(first, last + 16, 16):
            low, high = code[address]
            guard = low >> 12 & 0xF
            where = " to %x" % target(address, low, high) if low & 0xFFF == BRANCH else ""
            print("%05x %s%s%s" % (address, "" if guard == 7 else "@%sP%d " % ("!" if guard & 8 else "", guard & 7),
                                   operation(low)[1], where))
        return
    taken = {int(word, 16) for word in arguments[3:]}
    run, at = [code[first]], first
    while at != last and len(run) < 100000:
        low, high = code[at]
        if low & 0xFFF == CALL:
            sys.exit("machine_code.py: the path calls a function at %x" % at)
        jumps = low & 0xFFF == BRANCH and (unconditional(low, high) or at in taken)
        at = target(at, low, high) if jumps else at + 16
        if at not in code:
            sys.exit("machine_code.py: the path leaves the kernel before it comes to %x" % last)
        run.append(code[at])
    print("path %x to %x: %s" % (first, last, text(run)))


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return
    rest = arguments[2:]
    if len(arguments) < 2 or (rest and (rest[0] not in ("--list", "--path") or len(rest) < 3)):
        sys.exit("machine_code.py: FILE KERNEL, then nothing, --list FIRST LAST or --path FIRST LAST [ADDRESS ...]")
    with tempfile.TemporaryDirectory() as folder:
        cubin = compiled(arguments[0], folder) if arguments[0].endswith(".cu") else arguments[0]
        found = [pair for pair in kernels(cubin) if arguments[1] in pair[0]]
    if not found:
        sys.exit("machine_code.py: no kernel's name in %s holds '%s'" % (arguments[0], arguments[1]))
    for name, code in found:
        show(name, code, rest)


if __name__ == "__main__":
    main(sys.argv[1:])
