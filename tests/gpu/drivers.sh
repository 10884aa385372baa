#!/usr/bin/env bash
# What a program built with CUDA says of an old driver, of one without a GPU, and of a GPU that is full or held by another.
# Usage: drivers.sh ROOT ULPLAB FOLDER [CUBLAS], the last where the program has cuBLAS
set -euo pipefail
root=$1
ulplab=$2
work=$3
commands=("info" "bulk" "fma --count 1" "functions --count 1")
[ -z "${4:-}" ] || commands+=("invariance --layers 64x64")
for kind in old:OLD none:RESULT=100 full:RESULT=2 busy:RESULT=46; do
    mkdir -p "$work/${kind%%:*}"
    cc -shared -fPIC "-D${kind#*:}" -o "$work/${kind%%:*}/libcuda.so.1" "$root/tests/gpu/driver_stand_in.c"
done
check() {
    local kind=$1 part=$2 code=0
    shift 2
    LD_LIBRARY_PATH=$work/$kind "$ulplab" "$@" > "$work/out.txt" 2>&1 || code=$?
    [ "$code" -eq 3 ] && [ "$(wc -l < "$work/out.txt")" -eq 1 ] && grep -qF -- "$part" "$work/out.txt" && return
    echo "drivers.sh: with the driver '$kind', $* ended with $code:" >&2
    cat "$work/out.txt" >&2
    exit 1
}
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    check old 'install a newer driver' gpu $command
    # shellcheck disable=SC2086
    check none 'this machine has no NVIDIA GPU' gpu $command
    # shellcheck disable=SC2086
    check full 'close other programs on the GPU' gpu $command
    # shellcheck disable=SC2086
    check busy 'another program holds the GPU exclusively' gpu $command
done
