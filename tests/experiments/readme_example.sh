#!/usr/bin/env bash
# Compiles and runs the example of README.md, and compares what it prints with what its comments say.
# Usage: readme_example.sh SOURCE_FOLDER COMPILER SOFTFLOAT_LIBRARY [FLAG...]: the flags that the library was built with
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```cpp/ {inside = 1; next} /^```/ {inside = 0} inside' "$1/README.md" >"$work/example.cpp"
"$2" "${@:4}" -std=c++20 -ffp-contract=off -I"$1" "$work/example.cpp" "$3" -o "$work/example"
"$work/example" >"$work/printed"
printf '1\n1.001\n' | diff - "$work/printed"
