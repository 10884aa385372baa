#!/usr/bin/env bash
# Makes a register, experiment by experiment: runs what is not complete in out/registers/ and takes its rows into the committed
# file. Interrupted, it resumes where it stopped.
# Usage: make.sh PROGRAM quick|full|published SEED [PART] [NAME...]    PART: what training runs leave out (scale, masters, sums, norms, all), or -
# DATA="mnist=FOLDER": settings that name the data of published runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:?make.sh PROGRAM quick|full|published SEED [PART] [NAME...]} size=${2:?quick, full or published} seed=${3:?a seed} part=${4:--}
shift $(($# < 4 ? $# : 4))
case $size in quick | full | published) ;; *) echo "make.sh: \"$size\" is no size of a register; there are quick, full and published" >&2; exit 2 ;; esac
name=$size
[ "$seed" = 1 ] || name+="-seed-$seed"
left_out=()
[ -z "${DATA:-}" ] || left_out=(--set "$DATA")
[ "$part" = - ] || { name+="-without-$part"; left_out=(--set "without=$part"); }
file=experiments/registers/$name.json out=out/registers/$name
mapfile -t experiments < <([ $# -gt 0 ] && printf "%s\n" "$@" || "$program" list | cut -d" " -f1)
for experiment in "${experiments[@]}"; do
    code=0
    "$program" run "$experiment" "--$size" --seed "$seed" "${left_out[@]}" --out "$out/$experiment" >/dev/null || code=$?
    [ $code -le 1 ] || { [ $code = 2 ] && [ "$part" != - ] && continue; exit $code; }  # 1: a verdict; 2: nothing to leave out
    "$program" dev register --out "$out/$experiment" --register "$size" >"$file.partial"
    mv "$file.partial" "$file"
done
