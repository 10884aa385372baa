#!/usr/bin/env bash
# Writes what is generated in the documents: the tables of docs/reference, the table of experiments in README.md, and,
# where out/ holds results (after ./run.sh), the claims and the figures.
# Usage: docs/update.sh [ULPLAB_PROGRAM [OUTPUT_FOLDER]]; the test of stale tables gives another output folder.
set -euo pipefail
cd "$(dirname "$0")/.."
ulplab=${1:-build/release/bin/ulplab}
to=${2:-.}
[ -x "$ulplab" ] || { echo "update.sh: there is no program $ulplab; build it: ./run.sh --quick overflow" >&2; exit 3; }

# Standard input becomes FILE once it is complete.
write() { cat >"$to/$1.part" && mv "$to/$1.part" "$to/$1"; }

mkdir -p "$to/docs/reference"
"$ulplab" formats --format markdown | write docs/reference/formats.md
"$ulplab" models --format markdown | write docs/reference/models.md
"$ulplab" manual --format markdown | write docs/reference/commands.md
"$ulplab" list --format markdown >"$to/table.part"
awk -v table="$to/table.part" '
    /^<!-- end of table -->/ { inside = 0 }
    !inside
    /^<!-- table of experiments/ { inside = 1; while ((getline line <table) > 0) print line }' README.md | write README.md
rm "$to/table.part"
[ "$to" = . ] || exit 0

if ls out/*/result.json >/dev/null 2>&1; then
    "$ulplab" claims --format markdown | write docs/reference/claims.md
    cp out/gradient_histogram/shift.svg docs/figures/loss_scale_shift.svg
else
    echo "update.sh: there are no results in out/; claims.md and the figures stay as they are (see ./run.sh)" >&2
fi
