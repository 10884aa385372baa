#!/usr/bin/env bash
# The calls that docs/gpu.md gives for the next card, copied from there and run on the stand-in, made small by further options.
# Usage: next_calls.sh ROOT PROGRAMS FOLDER
set -euo pipefail
root=$1
programs=$2
work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
export PATH=$programs:$PATH ULPLAB=$programs/ulplab

# What makes a call small, or lets it run without a card.
smaller() {
    case ${1#compute-sanitizer --error-exitcode 1 } in
        "ulplab gpu experiments "*) echo "--device software:sm_90 --smoke swamping" ;;
        "ulplab gpu functions --count "*) echo "--device software:sm_90 cvt.rn.bf16.f32" ;;
        "ulplab gpu functions "*) echo "--device software:sm_90 --count 1 cvt.rn.bf16.f32 cvt.rn.bf16.f16" ;;
        "ulplab gpu bulk --instruction tcgen05 "*) echo "--device software:sm_100 --class ordinary" ;;
        "ulplab gpu bulk "*) echo "--device software:sm_90" ;;
        "ulplab gpu attention --size "*) echo "--device software:sm_90" ;;
        "ulplab gpu fma --every "*) echo "--device software:sm_90" ;;
        "ulplab gpu attention "*) echo "--device software:sm_90 --size 16 64" ;;
        "ulplab gpu invariance "*) echo "--device software:sm_90 --layers 64x256 --tokens 1 8" ;;
        "ulplab gpu transformer"*) echo "--device software:sm_90 --set layers=1 --set tokens=8 --set vocabulary=100 --set width=64 --set heads=4" ;;
        "ulplab gpu record "*) echo "--device software:sm_90 --instruction mma.m16n8k8.fp16.fp32 --count 1" ;;
        "ulplab gpu fma "*) echo "--device software:sm_90 --every 1 --count 2" ;;
        "ulplab gpu shapes "*) echo "--count 20" ;;
        "ulplab gpu predict "*) echo "" ;;
        "ulplab gpu cublas-study "*) echo "" ;;  # has no stand-in
        "ulplab gpu "*) echo "--device software:sm_90" ;;
        "ulplab verify "*) echo "" ;;
        gpu/verify_all.sh*) echo "--help" ;;
    esac
}

mapfile -t calls < <(sed -n '/^## The calls for the next card/,/^## Backends/p' "$root/docs/gpu.md" | sed -n 's/^    \([a-z]\)/\1/p' | sed 's/ *#.*//')
[ "${#calls[@]}" -ge 22 ] || { echo "next_calls.sh: docs/gpu.md has ${#calls[@]} calls" >&2; exit 1; }
ulplab gpu shapes --seed 1 --count 20 --out shapes.csv > out.txt
for call in "${calls[@]}"; do
    run=$call
    case $call in
        "ulplab_record "*) run="ulplab_record --software ${call#ulplab_record }" ;;
        "compute-sanitizer "*) run=${call#compute-sanitizer --error-exitcode 1 } ;;
        "ulplab verify --device cuda "*) run=${call/--device cuda/--device software:sm_90} ;;
        gpu/*) run=$root/$call ;;
        *" judge predicted.txt "*) ulplab gpu predict --shapes shapes.csv --answers answers.txt --out predicted.txt > out.txt ;;
    esac
    run=${run/1e12/3000}  # blocks
    run=${run/1e9/3000}
    code=0
    # shellcheck disable=SC2046
    CUDA_VISIBLE_DEVICES= timeout 300 $run $(smaller "$call") > out.txt 2>&1 || code=$?
    [ "$call" != "ulplab verify --device cuda again" ] || [ "$code" -ne 4 ] || code=0  # the recorder's fp32 sums are no model's
    case $call in
        *" judge guessed.txt "*)  # of ten guesses between the stand-in's points one is wrong
            [ "$code" -ne 4 ] || ! grep -q '^all .* 9 equal, 1 different, 10 declined' out.txt || code=0
            ;;
        *cublas-study*)  # cuBLAS itself: where no card is in sight it ends for the lack of one, not for its options
            [ "$code" -eq 3 ] && grep -q '^ulplab: .*; ' out.txt && continue
            ;;
    esac
    if [ "$code" -ne 0 ]; then
        echo "next_calls.sh: $run $(smaller "$call") ended with $code:" >&2
        head -n 20 out.txt >&2
        exit 1
    fi
    out=$(sed -n 's/.*--out \([a-z0-9_.]*\).*/\1/p' <<< "$call")
    [ -z "$out" ] || [ -e "$out" ] || { echo "next_calls.sh: $call left no $out" >&2; exit 1; }
done

# docs/gpu.md names the commands that have no --device.
stand_ins=$(sed -n '/^`--device software:sm_90` puts/,/^$/p' "$root/docs/gpu.md")
ulplab gpu --help | sed -n '/^Subcommands:/,$s/^  \([a-z-]*\) .*/\1/p' > commands.txt
[ "$(wc -l < commands.txt)" -ge 15 ] || { echo "next_calls.sh: not all commands are read from the help" >&2; exit 1; }
while read -r command; do
    ulplab gpu "$command" --help > out.txt
    named=no
    grep -qF "\`$command\`" <<< "${stand_ins%%What comes out*}" && named=yes
    has=no
    grep -q -- '--device' out.txt && has=yes
    [ "$named" != "$has" ] || { echo "next_calls.sh: docs/gpu.md is wrong about the --device of $command" >&2; exit 1; }
done < commands.txt
echo "${#calls[@]} calls run"
