#!/usr/bin/env bash
# How long `ulplab inspect` takes beside `cat`, both on a file that lies in the page cache: the fastest of RUNS each.
# Usage: tests/bench/inspect_speed.sh [ULPLAB_PROGRAM [RUNS]]
set -euo pipefail
ulplab=${1:-build/release/bin/ulplab}
runs=${2:-20}
[ -x "$ulplab" ] || { echo "inspect_speed.sh: there is no program $ulplab; build it: ./run.sh" >&2; exit 3; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

# 400 MB of gradients each: a million numbers over 30 binades, again and again.
python3 - "$folder" <<'END'
import random, struct, sys
random.seed(1)
numbers = [random.gauss(0, 1) * 2.0 ** random.uniform(-24, 4) for _ in range(1_000_000)]
for name, code, descr, times in (("f32", "f", "<f4", 100), ("f16", "e", "<f2", 200)):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, times * len(numbers))
    header += " " * (117 - len(header)) + "\n"
    block = struct.pack("<%d%s" % (len(numbers), code), *numbers)
    with open(sys.argv[1] + "/" + name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for _ in range(times): file.write(block)
END

# The fastest run of a command, in microseconds.
fastest() {
    local best="" start taken
    for _ in $(seq "$runs"); do
        start=$(date +%s%N)
        "$@" >/dev/null
        taken=$((($(date +%s%N) - start) / 1000))
        if [ -z "$best" ] || [ "$taken" -lt "$best" ]; then best=$taken; fi
    done
    echo "$best"
}
for name in f32 f16; do
    file=$folder/$name.npy
    cat=$(fastest cat "$file")
    for format in fp16 bf16 e4m3; do
        [ "$name$format" = f16fp16 ] && continue
        own=$(fastest "$ulplab" inspect "$file" --format "$format")
        echo "$name judged in $format: $own us, cat $cat us, $(awk "BEGIN { printf \"%.2f\", $own / $cat }") times"
    done
done
