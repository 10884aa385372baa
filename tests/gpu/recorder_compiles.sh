#!/usr/bin/env bash
# Whether gpu/recorder/ulplab_record.cu compiles for GPUs, and to which instructions:
#
#     recorder_compiles.sh SOURCE_FOLDER NVCC cuda    by CUDA's compiler, for Turing to RTX Blackwell
#     recorder_compiles.sh SOURCE_FOLDER CLANG hip    by clang without HIP, for gfx908 and gfx90a, to assembler
#
# Exit code 77 with "skipped: ..." where the compiler cannot.
set -euo pipefail
file=$1/gpu/recorder/ulplab_record.cu
compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$3" = cuda ]; then
    [ -x "$compiler" ] || { echo "skipped: no nvcc"; exit 77; }
    for architecture in 75 80 89 90 120; do
        case $("$compiler" --list-gpu-arch) in *compute_$architecture*) ;; *) continue ;; esac
        "$compiler" -std=c++17 -Werror=all-warnings -arch="compute_$architecture" -ptx -o "$work/ptx" "$file"
        count=$(grep -Ec '(mma\.sync\.aligned\.m|wmma\.mma\.sync)' "$work/ptx")
        echo "sm_$architecture: $count matrix instructions in PTX"
        case $architecture in 75) least=4 ;; 80) least=12 ;; *) least=28 ;; esac
        [ "$count" -ge "$least" ] || { echo "recorder_compiles.sh: expected $least or more" >&2; exit 1; }
    done
    "$compiler" -std=c++17 -arch=sm_90 -cubin -o "$work/cubin" "$file"  # what the assembler takes, too
else
    command -v "$compiler" > "$work/found" || { echo "skipped: no clang"; exit 77; }
    flags=(-x hip -std=c++17 -nogpulib -nogpuinc "-I$1/tests/gpu/hip_stand_in")
    "$compiler" "${flags[@]}" --cuda-device-only --offload-arch=gfx90a -fsyntax-only "$file" 2> "$work/errors" || {
        grep -qi "unknown target\|unsupported\|no available targets" "$work/errors" && { echo "skipped: $compiler knows no AMD GPU"; exit 77; }
        cat "$work/errors" >&2
        exit 1
    }
    "$compiler" "${flags[@]}" -Wall -Wextra -Werror --cuda-host-only -fsyntax-only "$file"
    for gfx in gfx908:3 gfx90a:4; do
        "$compiler" "${flags[@]}" --cuda-device-only "--offload-arch=${gfx%:*}" -O1 -S -o "$work/asm" "$file"
        count=$(grep -Eo 'v_mfma_[a-z0-9_]+' "$work/asm" | sort -u | wc -l)
        echo "${gfx%:*}: $count matrix instructions"
        [ "$count" -eq "${gfx#*:}" ] || { echo "recorder_compiles.sh: expected ${gfx#*:}" >&2; exit 1; }
    done
fi
