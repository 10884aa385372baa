#!/usr/bin/env bash
# Runs every experiment, or those named, small, and a training with every recipe with each of two programs, and compares
# the digests of the results bit for bit.
# Usage: compare_digests.sh PROGRAM PROGRAM [EXPERIMENT...]. Exit code 4 where they differ.
set -euo pipefail
programs=("$1" "$2")
experiments=("${@:3}")
[ ${#experiments[@]} -gt 0 ] || experiments=(all)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# digests PROGRAM FOLDER: "experiment digest" and "recipe backend digest" lines. A smoke run does not train a net: a claim may
# fail (exit code 1).
digests() {
    "$1" run "${experiments[@]}" --smoke --out "$work/$2" >/dev/null || [ $? -eq 1 ]
    for manifest in "$work/$2"/*/manifest.json; do
        printf '%s %s\n' "$(basename "$(dirname "$manifest")")" "$(sed -n 's/.*"digest": "\(.*\)".*/\1/p' "$manifest")"
    done
    "$1" dev digests
}
digests "${programs[0]}" a >"$work/a.txt"
digests "${programs[1]}" b >"$work/b.txt"
cat "$work/a.txt"
if ! diff "$work/a.txt" "$work/b.txt"; then
    echo "The results of ${programs[0]} and ${programs[1]} differ." >&2
    exit 4
fi
echo "The results of ${programs[0]} and ${programs[1]} are the same, bit for bit."
