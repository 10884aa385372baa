#!/usr/bin/env bash
# What a program built with CUDA says of an old driver, and of a driver without a GPU. Usage: drivers.sh ROOT ULPLAB FOLDER
set -euo pipefail
root=$1
ulplab=$2
work=$3
mkdir -p "$work/old" "$work/none"
cc -shared -fPIC -DOLD -o "$work/old/libcuda.so.1" "$root/tests/gpu/driver_stand_in.c"
cc -shared -fPIC -o "$work/none/libcuda.so.1" "$root/tests/gpu/driver_stand_in.c"
check() {
    local kind=$1 part=$2 code=0
    shift 2
    LD_LIBRARY_PATH=$work/$kind "$ulplab" "$@" > "$work/out.txt" 2>&1 || code=$?
    [ "$code" -eq 3 ] && [ "$(wc -l < "$work/out.txt")" -eq 1 ] && grep -qF -- "$part" "$work/out.txt" && return
    echo "drivers.sh: with the driver '$kind', $* ended with $code:" >&2
    cat "$work/out.txt" >&2
    exit 1
}
for command in "info" "bulk" "fma --pairs 1" "functions --ranges 1" "invariance --layers 64x64"; do
    # shellcheck disable=SC2086
    check old 'install a newer driver' gpu $command
    # shellcheck disable=SC2086
    check none 'this machine has no NVIDIA GPU' gpu $command
done
