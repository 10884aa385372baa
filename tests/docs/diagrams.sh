#!/usr/bin/env bash
# Whether the lessons' diagrams are what their script draws. Usage: diagrams.sh SOURCE_FOLDER
set -euo pipefail
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$1/docs/lessons/diagrams.py" "$work"
for drawing in "$work"/*.svg; do
    cmp "$drawing" "$1/docs/figures/lessons/$(basename "$drawing")" || { echo "run docs/update.sh" >&2; exit 1; }
done
