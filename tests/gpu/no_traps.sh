#!/usr/bin/env bash
# Objects with PTX as text hold no trap. nvcc makes one, without a warning, of what is undefined in code for a GPU: a
# reference to a constant of the host (softfloat/device_constant.hpp), or a call of a function that it cannot compile.
set -euo pipefail
for object in "$@"; do
    kernels=$(grep -a -c '\.entry' "$object" || true)
    traps=$(grep -a -c 'trap;' "$object" || true)
    echo "$(basename "$object"): $kernels kernels, $traps traps"
    [ "$kernels" -gt 0 ] || { echo "no_traps.sh: no PTX in $object" >&2; exit 1; }
    [ "$traps" -eq 0 ] || exit 1
done
