#!/usr/bin/env bash
# A class of 120 students and all exercises: graded on two cores in at most ten minutes, stopped and resumed on the way, every
# planted mistake named, every right program full. Usage: class_of_120.sh SOURCE_FOLDER ULPLAB_PROGRAM [STUDENTS]
set -euo pipefail
here=$1/tests/course solutions=$1/tests/experiments/course/solutions ulplab=$2 students=${3:-120}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "class_of_120.sh: $1" >&2; exit 1; }
python3 "$here/make_class.py" "$solutions" "$work/all" "$students" >"$work/planted"
grade() { "$ulplab" grade --class "$work/all" --out "$work/out" --jobs 2; }

TIMEFORMAT='%R %U %S'
{ time timeout -s INT 60 "$ulplab" grade --class "$work/all" --out "$work/out" --jobs 2 >"$work/first" || true; } 2>"$work/time1"
{ time grade >"$work/second"; } 2>"$work/time2"
{ time grade >"$work/third"; } 2>"$work/time3"
# The time on two cores that nobody else uses: half of the processor time.
read -r wall cpu < <(tail -qn1 "$work"/time? | awk '{ wall += $1; cpu += $2 + $3 } END { printf "%d %d\n", wall, cpu / 2 }')
resumed=$(grep -c '(as before)' "$work/second" || true)
echo "$students students: $cpu s on two cores ($wall s here); $resumed were graded before the stop; again: $(cut -d' ' -f1 "$work/time3") s"
[ "$cpu" -le 600 ] || fail "$cpu s on two cores, more than 600"
[ "$(grep -c ' of ' "$work/first" || true)" -le "$((resumed + 2))" ] || fail "what was graded before the stop is graded again"
[ "$(grep -c '(as before)' "$work/third")" -eq "$students" ] || fail "a finished class is graded again"

points=$("$ulplab" course list | awk '$1 == "all" { print $2 }')
wrong=$(tr -d '\r' <"$work/out/grades.csv" | awk -F, -v p="$points" 'NR > 1 && (NR - 2) % 3 == 0 && $NF != p { print $1 }')
[ -z "$wrong" ] || fail "right programs without all points: $wrong"
while read -r exercise mistake count; do
    named=$(awk -F, -v e="$exercise" -v m="$mistake" '$1 == e && $2 == m { print $3 }' "$work/out/misconceptions.csv")
    [ "${named:-0}" -ge "$count" ] || fail "$exercise: $mistake is in $count programs, and named in ${named:-0}"
done <"$work/planted"
[ "$(wc -l <"$work/out/gradebook.csv")" -eq "$((students + 2))" ] || fail "gradebook.csv has other rows"
