#!/usr/bin/env bash
# gpu/machine_code.py finds in compiled code what was written. Usage: machine_code.sh ROOT NVCC FOLDER
set -euo pipefail
root=$1
nvcc=$2
work=$3
[ -x "$nvcc" ] && command -v python3 > /dev/null || exit 77
mkdir -p "$work"
cat > "$work/known.cu" <<'END'
// Eight times one PTX instruction in a loop, its operands not known before.
#define EIGHT(X) X X X X X X X X
#define KERNEL(NAME, PTX)                                                         \
    extern "C" __global__ void NAME(int* p, int y, int z, int times) {            \
        int x = p[threadIdx.x];                                                   \
        _Pragma("unroll 1") for (int i = 0; i < times; ++i) {                     \
            EIGHT(asm volatile(PTX : "+r"(x) : "r"(y), "r"(z));)                  \
        }                                                                         \
        p[threadIdx.x] = x;                                                       \
    }
KERNEL(known_lop3, "lop3.b32 %0, %0, %1, %2, 0x96;")
KERNEL(known_shift, "shf.l.wrap.b32 %0, %0, %1, %2;")
KERNEL(known_multiply, "mad.lo.s32 %0, %0, %1, %2;")
KERNEL(known_permute, "prmt.b32 %0, %0, %1, %2;")
KERNEL(known_absolute, "{ .reg .s32 t; abs.s32 t, %0; mad.lo.s32 %0, t, %1, %2; }")
KERNEL(known_zeros, "{ .reg .u32 t; clz.b32 t, %0; mad.lo.s32 %0, t, %1, %2; }")
KERNEL(known_largest, "max.s32 %0, %0, %1;")
extern "C" __global__ void known_shared(int* p, int y, int z, int times) {
    __shared__ int numbers[64];
    numbers[threadIdx.x] = y;
    __syncthreads();
    int x = p[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < times; ++i) { EIGHT(x = *(volatile int*)&numbers[x + z];) }
    p[threadIdx.x] = x;
}
END
"$nvcc" -arch=sm_90a -cubin -o "$work/known.cubin" "$work/known.cu"
count() {  # KERNEL 'OPERATION TIMES': that often in the loop
    local loop
    loop=$(python3 "$root/gpu/machine_code.py" "$work/known.cubin" "$1" | grep -A1 '^loop' | sed -n 2p)
    grep -qE "(^| )($2)( |$)" <<< "$loop" && return
    echo "machine_code.sh: the loop of $1 should have $2: $loop" >&2
    exit 1
}
count known_lop3 'LOP3 8'
count known_shift 'SHF 8'
count known_multiply 'IMAD 8'
count known_permute 'PRMT 8'
count known_absolute 'IABS 8'
count known_zeros 'FLO 8'
count known_largest 'VIMNMX 8|VIMNMX3 4'  # two in a row may be one of three operands
count known_shared 'LDS 8'
count known_lop3 'BRA 1'
if python3 "$root/gpu/machine_code.py" "$work/known.cubin" known_lop3 | grep -qE 'IABS|0x'; then
    echo "machine_code.sh: known_lop3 has operations that nobody wrote, or unknown ones" >&2
    exit 1
fi

# A path around a loop once is the loop; one that leaves it at its end, and continues to the kernel's, is longer.
loop=$(python3 "$root/gpu/machine_code.py" "$work/known.cubin" known_lop3 | sed -n 's/^loop \([0-9a-f]*\) to \([0-9a-f]*\):.*/\1 \2/p' | head -n 1)
read -r first last <<< "$loop"
path() { python3 "$root/gpu/machine_code.py" "$work/known.cubin" known_lop3 --path "$@" | sed -n 's/.*: \([0-9]*\) instructions: .*/\1/p'; }
once=$(path "$first" "$last")
twice=$(path "$first" $(printf '%x' $((16#$last + 16))) )
[ "$once" -gt 8 ] && [ "$twice" -eq $((once + 1)) ] || { echo "machine_code.sh: paths of $once and $twice" >&2; exit 1; }
python3 "$root/gpu/machine_code.py" "$work/known.cubin" known_lop3 --list "$first" "$last" | tail -n 1 | grep -qE "BRA to 0*$first\$"

echo text > "$work/known.cu.txt"
fails() {
    local part=$1 code=0
    shift
    python3 "$root/gpu/machine_code.py" "$@" > /dev/null 2> "$work/bad.txt" || code=$?
    [ "$code" -ne 0 ] && [ "$(wc -l < "$work/bad.txt")" -eq 1 ] && grep -qF -- "$part" "$work/bad.txt" && return
    echo "machine_code.sh: $* ended with $code:" >&2
    cat "$work/bad.txt" >&2
    exit 1
}
fails "no kernel's name" "$work/known.cubin" nothing
fails 'is no cubin' "$work/known.cu.txt" known
fails 'there is no file' "$work/absent.cubin" known
fails 'FILE KERNEL' "$work/known.cubin" known_lop3 --path 0
