#!/usr/bin/env bash
# The table of what bulk runs on GPUs counted, from their CSV files:
#
#     gpu/hardware_runs.sh tests/recordings/*/bulk*.csv > softfloat/matrix_units/hardware_runs.inc
#
# A line for each row of the model tables and GPU: its blocks over all instructions, classes of inputs and seeds, each
# counted once. A file with a mismatch, or one that no hardware made, is refused: exit code 4 or 3.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
awk -F, '
    FNR == 1 { source = gpu = driver = cuda = date = "" }
    /^# source /  { source = substr($0, 10) }
    /^# gpu /     { gpu = substr($0, 7) }
    /^# driver /  { driver = substr($0, 10) }
    /^# cuda /    { split(substr($0, 8), version, " "); cuda = version[2] }
    /^# date /    { date = substr($0, 8) }
    /^#/          { next }
    /^instruction,/ {
        if ($2 != "model" || $7 != "mismatches") { print FILENAME ": unknown columns" > "/dev/stderr"; exit 3 }
        if (source != "hardware") { print FILENAME ": not made by hardware" > "/dev/stderr"; exit 3 }
        next
    }
    $7 != 0 { print FILENAME ": " $1 " has mismatches" > "/dev/stderr"; exit 4 }
    $2 != "none" {
        device = gpu ", driver " driver ", CUDA " cuda ", " date
        row = "\"" $2 "\", \"" device "\""
        run = device SUBSEP $1 SUBSEP $3 SUBSEP $4
        if ($5 > most[run]) {  # the same inputs again add nothing
            blocks[row] += $5 - most[run]
            most[run] = $5
        }
    }
    END {
        for (row in blocks) printf "    {%s, \"%.1e\"},\n", row, blocks[row]
    }' "$@" | sed 's/e+0*\([0-9]\)/e\1/' | sort
