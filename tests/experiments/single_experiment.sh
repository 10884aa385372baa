#!/usr/bin/env bash
# The program of one experiment that does not train: built without the trainer and the commands, it gives the bits that
# ulplab gives. Usage: single_experiment.sh BUILD_FOLDER NAME
set -euo pipefail
build=$1
name=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "single_experiment.sh: $1" >&2; exit 1; }

cmake --build "$build" --target "$name" >"$work/log" || { cat "$work/log" >&2; fail "$name does not build"; }
objects=$(ninja -C "$build" -t inputs "$name" | grep '\.o$')
others='^(engine/.*/training/|experiments/.*/cli/|gpu/|tests/)'
! grep -qE "$others" <<<"$objects" || fail "$name needs objects of other rooms: $(grep -E "$others" <<<"$objects")"
all=$(ninja -C "$build" -t inputs ulplab)  # read to its end: ninja that cannot write on fails
grep -qE "$others" <<<"$all" || fail "the names of those rooms' objects have changed"
PATH=/nonexistent "$build/single/$name" --smoke --out "$work/alone" >/dev/null 2>&1 || [ $? -eq 1 ]
PATH=/nonexistent "$build/bin/$name" --smoke --out "$work/link" >/dev/null 2>&1 || [ $? -eq 1 ]
cmp "$work/alone/$name/result.json" "$work/link/$name/result.json"
cmp "$work/alone/$name/data.csv" "$work/link/$name/data.csv"
