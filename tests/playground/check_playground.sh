#!/usr/bin/env bash
# Opens the playground in a headless Chromium and compares it with the native program: every half, arithmetic, blocks of
# matrix units, and what a user's hands do. Usage: check_playground.sh SOURCE_FOLDER ULPLAB_PROGRAM
set -euo pipefail
source_folder=$1 ulplab=$2
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$chromium" ]; then
    echo "skipped: no chromium; apt-get install chromium"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source_folder"/docs/playground/*.{html,css,js} "$source_folder/tests/playground/check_playground.js" "$work"

# text NAME: standard input as a JavaScript constant.
text() { printf 'const %s = `' "$1"; cat; printf '`;\n'; }

# Operands that meet carries, cancellation, subnormals, overflow, infinities and NaN.
operands() {
    awk 'BEGIN {
        split("0000 8000 0001 8001 03FF 0400 3BFF 3C00 3C01 BC01 3E00 6800 7BFF FBFF 7C00 FC00 7E00 5555", edge)
        for (i = 1; i <= 18; ++i) for (j = 1; j <= 18; ++j) print edge[i], edge[j], edge[(i + j) % 18 + 1]
        state = 1
        for (n = 0; n < 1500; ++n) {
            line = ""
            for (i = 0; i < 3; ++i) { state = (state * 75 + 74) % 65537; line = line sprintf("%04X ", state % 65536) }
            print line
        }
    }'
}
operate() { # OP FUNCTION ROUNDING FIELDS: "OP ROUNDING OPERANDS... RESULT FLAGS" lines
    operands | cut -d' ' -f1-"$4" | "$ulplab" dev testfloat "$2" --rounding "$3" | sed "s/^/$1 $3 /"
}
blocks() {
    while IFS='|' read -r model a b c scales; do
        local more=(--rounding nearest_even)
        [[ $model == *.s32* ]] && more=()
        [ -n "$scales" ] && more+=(--a-scales "${scales%;*}" --b-scales "${scales#*;}")
        printf '%s|%s|%s|%s|%s|%s\n' "$model" "$a" "$b" "$c" "$scales" \
            "$("$ulplab" explain --unit "$model" "--a=$a" "--b=$b" "--c=$c" "${more[@]}" | sed -n 's/^result \([-0-9A-F]*\).*/\1/p')"
    done <<'CASES'
sm_70:mma.fp16.fp32|1.5,#8C00,1|1.5,#0800,#2E66|1
sm_80:mma.fp16.fp32|1,#0400,#0400,#0400,#0400|1,#1000,#1000,#1000,#1000|0
sm_90:mma.fp16.fp32|1,#0400,#0400,#0400,#0400|1,#1000,#1000,#1000,#1000|0
sm_90:mma.fp16.fp16|2048,1|1,1|0
sm_80:mma.bf16.fp32|3e38,-3e38,1e-38|3,3,1e-3|0.1
sm_80:mma.tf32.fp32|0.1,0.2,0.3,0.4,0.5|0.7,0.6,0.5,0.4,0.3|-0.5
sm_89:mma.e4m3.fp32|16,0.0625,0.0625|16,0.25,0.03125|0
sm_90:mma.e4m3.fp32|16,0.0625,0.0625,448|16,0.25,0.03125,448|0.1
sm_90:wgmma.e5m2.fp32|57344,1e-5|57344,1|1e-9
sm_90:mma.fp16.fp32|65504,inf|65504,-1|1
sm_90:mma.fp16.fp32|0,inf|0,0|1
x86:vdpbf16ps.bf16.fp32|1.5,0.1,3|1,2,0.3|1
gfx942:mfma.fp16.fp32|1.5,0.1,3,#0001,9|1,2,0.3,7,1e-3|1
sm_90:mma.fp64.fp64|1,0x1p-60,-1,0.1,0.7|1,1,1,0.1,0.3|1e-20
gfx90a:mfma.fp64.fp64|0.1,0.2,0.3|0.3,0.2,0.1|1e300
sm_80:mma.s8.s32|127,-128,3|127,-128,5|2147483000
sm_80:mma.s8.s32.satfinite|127,-128,3|127,-128,5|2147483000
sm_80:mma.u4_s4.s32|15,3|-8,7|-2
sm_80:mma.b1_xor.s32|1,0,1|0,0,1|0
sm_90:mma.b1_and.s32|1,0,1|1,1,1|0
sm_100:tcgen05.mxf8f6f4.e4m3.fp32|1.5,0.3,-3,448,0.01|2,1,0.5,448,1|1e-3|8;0x1p-20
sm_100:tcgen05.mxf8f6f4.e2m3_e5m2.fp32|1.5,0.3,-3|2,1,0.5|1e9|0x1p-90;0x1p80
sm_120:mma.mxf4.e2m1.fp32|6,4,0.5,-1.5,3|6,3,1,2,0.5|1e-3|2;0x1p-3
sm_100:tcgen05.nvf4.e2m1.fp32|6,4,0.5,-1.5,3,1,1,1,1,1,1,1,1,1,1,1,6|6,3,1,2,0.5,1,1,1,1,1,1,1,1,1,1,1,-6|1e-3|1.125,448;0.125,0.015625
sm_120:mma.nvf4_block32.e2m1.fp32|inf,4|6,3|1|1.5;1.75
CASES
}
{
    "$ulplab" codes fp16 | text native_fp16
    "$ulplab" codes e4m3 | text native_e4m3
    { operate add f16_add nearest_even 2; operate add f16_add up 2; operate subtract f16_sub down 2
      operate multiply f16_mul nearest_away 2; operate divide f16_div toward_zero 2
      operate fma f16_mulAdd odd 3; operate fma f16_mulAdd nearest_even 3; } | text native_operations
    blocks | text native_blocks
} >"$work/native.js"
sed -i 's|</body>|<pre id="verdict">nothing was checked</pre><script defer src="native.js"></script><script defer src="check_playground.js"></script></body>|' \
    "$work/index.html"

"$chromium" --headless --no-sandbox --disable-dev-shm-usage --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$work/profile" --window-size=500,900 \
    --virtual-time-budget=600000 --dump-dom "file://$work/index.html" >"$work/dom.html" 2>"$work/log" || true
sed -n '/<pre id="verdict">/,/<\/pre>/p' "$work/dom.html" | sed 's/<[^>]*>//g'
grep -q '<pre id="verdict">all is right' "$work/dom.html" || { tail -5 "$work/log" >&2; exit 1; }
