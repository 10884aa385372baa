#!/usr/bin/env bash
# Whether README.md is short, shows the four doors first, and quotes numbers as the register and the tables have them.
# Usage: readme.sh SOURCE_FOLDER ULPLAB_PROGRAM
set -euo pipefail
ulplab=$2
cd "$1"
status=0
fail() { echo "README.md: $*" >&2; status=1; }

[ "$(wc -l <README.md)" -le 120 ] || fail "$(wc -l <README.md) lines; at most 120"
for first in ulplab.matmul docs/lessons/README.md '`diagnose`' docs/playground/index.html; do
    head -n 60 README.md | grep -qF "$first" || fail "its first 60 lines do not hold $first"
done

# Prints the numbers of the rows "| finding | numbers | `claim`, `claim` |" of FILE that no measurement of these claims has.
unfounded() {
    awk -F ' \\| ' -v register=docs/reference/claims.md '
        BEGIN { while ((getline line <register) > 0) if (split(line, cell, " \\| ") > 5) measured[cell[1]] = cell[5] }
        /^\| .*`[a-z0-9_]+\.[a-z0-9_]+`/ {
            found = ""
            n = split($3, claims, ",")
            for (i = 1; i <= n; ++i) { gsub(/[ |]/, "", claims[i]); found = found " " measured["| " claims[i]] }
            numbers = $2
            while (match(numbers, /[0-9]+\.[0-9]+/)) {
                number = substr(numbers, RSTART, RLENGTH)
                numbers = substr(numbers, RSTART + RLENGTH)
                ++count
                if (index(found " ", " " number " ") == 0) print number " of " $3
            }
        }
        END { if (!count) print "no number" }' "$1"
}
wrong=$(unfounded README.md)
[ -z "$wrong" ] || fail "not in docs/reference/claims.md: $wrong"

# said TEXT: README.md says so.
said() { grep -qF "$1" README.md || fail "it does not say \"$1\""; }
said "all $(sed -n '/^<!-- table of experiments/,/^<!-- end/p' docs/experiments.md | grep -c '^| `') experiments"
said "$(grep -oE '^[0-9]+ claims' docs/reference/claims.md)"
said "in $(wc -l <experiments/train_digits.cpp) lines of C++"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rows=$work/models.md
"$ulplab" dev page models >"$rows"
said "$(grep '^| `sm_90:' $rows | grep -c 'verified live') of the $(grep -c '^| `sm_90:' $rows) rows of sm_90"
said "ordinary values of $(grep -cE '^\| .*\| ordinary values: recorded' $rows) rows"
said "$(sed '/^## NVIDIA H200/,$d' docs/hardware.md | sed -nE 's/^\| `.*\| ([0-9]+) of [0-9]+ \|$/\1/p' |
    awk '{ sum += $1 } END { print sum }') products explained"

# The control: a number that no claim has is found.
sed 's/10\.5 %/10.6 %/' README.md >"$work/changed"
[ -n "$(unfounded "$work/changed")" ] || { echo "a changed number passes" >&2; status=1; }
exit $status
