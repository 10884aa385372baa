#!/usr/bin/env bash
# What nvcc miscompiles in code for a GPU without a warning, found without a GPU:
#
#     device_code.sh ROOT OBJECT...
#
# Headers for the GPU count no bits by <bit> (softfloat/support/bits.hpp). The objects, which hold PTX as text, hold no trap: nvcc
# makes one of a reference to a constant of the host (softfloat/support/device_constant.hpp).
set -euo pipefail
root=$1
shift
cd "$root"
functions='std::(has_single_bit|bit_ceil|bit_floor|bit_width|popcount|count[lr]_(zero|one))\('
if grep -nE "$functions" softfloat/*.hpp softfloat/{support,functions,matrix_units}/*.hpp gpu/*/*.hpp gpu/*/*.cu*; then
    echo "device_code.sh: use softfloat/support/bits.hpp in place of <bit>" >&2
    exit 1
fi
for object in "$@"; do
    kernels=$(grep -a -c '\.entry' "$object" || true)
    traps=$(grep -a -c 'trap;' "$object" || true)
    echo "$(basename "$object"): $kernels kernels, $traps traps"
    [ "$kernels" -gt 0 ] || { echo "device_code.sh: no PTX in $object" >&2; exit 1; }
    [ "$traps" -eq 0 ] || exit 1
done
