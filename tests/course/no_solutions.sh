#!/usr/bin/env bash
# Installs everything, the wheel's files too, and looks for solutions and planted mistakes: in files and inside programs.
# Usage: no_solutions.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
solutions=$1/tests/experiments/course/solutions build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first lines of the solutions and of the lists of mistakes below a folder.
found() { grep -raohE '^(//|#).*: a solution\.|^# Planted mistakes' "$1" || true; }
[ "$(found "$solutions" | wc -l)" -eq "$(find "$solutions" -mindepth 2 -type f | wc -l)" ] ||
    { echo "no_solutions.sh: a file of $solutions has another first line" >&2; exit 1; }

cmake --install "$build" --prefix "$work/all" >/dev/null
cmake --install "$build" --prefix "$work/wheel/site" --component wheel >/dev/null
for folder in "$1/docs" "$work"; do
    [ -z "$(found "$folder")" ] || { echo "students get: $(found "$folder" | head -3)" >&2; exit 1; }
done
