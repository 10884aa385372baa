#!/usr/bin/env bash
# The whole path of predictions as commands, on the stand-in for cuBLAS: shapes, answers, predictions, judgement, one wrong bit,
# a product like the library's, and how bad input ends. Usage: prediction_commands.sh ULPLAB FOLDER
set -euo pipefail
ulplab=$1
work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"
device=software:sm_90

# ends CODE TEXT COMMAND...: the exit code, and what its output holds.
ends() {
    local code=$1 text=$2 got=0
    shift 2
    "$@" > out.txt 2>&1 || got=$?
    [ "$got" -eq "$code" ] && grep -qF -- "$text" out.txt && return
    echo "prediction_commands.sh: $* ended with $got instead of $code, or without '$text':" >&2
    cat out.txt >&2
    exit 1
}

ends 0 '6 shapes in' "$ulplab" gpu shapes --seed 3 --count 6 --out drawn.csv
cat > shapes.csv <<END
type,layout,m,n,k,alpha,beta
fp16,TN,96,64,512,1,0
bf16_d16,NN,33,17,700,0.5,1,3
fp16_fp16,TT,16,8,900,1,0
fp32,TN,20,20,20,1,0
e4m3,TN,30,16,256,1,0
END
ends 0 '3 of 5 shapes predicted' "$ulplab" gpu predict --device $device --shapes shapes.csv --out predicted.txt
ends 0 '3 equal, 0 different, 1 declined, 1 not offered, 0 moved, 0 failed' "$ulplab" gpu judge --device $device predicted.txt --out judged.csv
grep -q 'fp16,TN,96,64,512,1,0,equal' judged.csv
for group in 'type fp16 ' 'layout TN ' 'family 66 ' 'D whole '; do grep -q "^$group.* equal, .*from all three" out.txt; done
[ "$(sed -n 's/^# shapes //p' predicted.txt)" = "$(sha256sum < shapes.csv | cut -d' ' -f1)" ]
grep -qE '^# program [0-9a-f]{64}$' predicted.txt

# Verdicts in parts, by a command that is ended at once each time and one that is not; a finished file runs nothing again.
head -n 6 judged.csv > parts.csv
ends 3 'nothing was compared' "$ulplab" gpu judge --device $device predicted.txt --seconds 1e-9 --out none.csv
ends 0 'stopped by --seconds after 1 of 5 rows' "$ulplab" gpu judge --device $device predicted.txt --seconds 1e-9 --out parts.csv
ends 0 'taken up after 1 of 5 rows' "$ulplab" gpu judge --device $device predicted.txt --out parts.csv
cmp parts.csv judged.csv
ends 0 'taken up after 5 of 5 rows' "$ulplab" gpu judge --device $device predicted.txt --seconds 1e-9 --out parts.csv
cmp parts.csv judged.csv
ends 0 '5 shapes, 1 classes' "$ulplab" gpu answers --device $device --quick --type e4m3 --shapes shapes.csv --out answers.txt
ends 0 '3 of 5 shapes predicted' "$ulplab" gpu predict --answers answers.txt --shapes shapes.csv --out stored.txt
diff <(grep -v '^# answers' predicted.txt) <(grep -v '^# answers' stored.txt)
ends 2 '--device excludes --answers' "$ulplab" gpu predict --answers answers.txt --device $device --shapes shapes.csv --out x.txt
[ ! -e x.txt ]

# Answers in parts: each call keeps its own, and all together are those of one call.
for left in 'the rest is left' 'taken up with 1 shapes' 'taken up with 2 shapes'; do
    ends 0 "$left" "$ulplab" gpu answers --device $device --quick --type e4m3 --shapes shapes.csv --seconds 1e-9 --out parts.txt
done
ends 0 'taken up with 3 shapes and 0 classes' "$ulplab" gpu answers --device $device --quick --type e4m3 --shapes shapes.csv --out parts.txt
cmp parts.txt answers.txt
ends 3 'not of cuBLAS' "$ulplab" gpu answers --device software:sm_80 --quick --type e4m3 --out parts.txt
ends 3 'another grid; give another --out, or add --quick' "$ulplab" gpu answers --device $device --type e4m3 --out parts.txt

# A digest with one wrong digit is found; so is an answer that the library does not give.
awk -F';' -v OFS=';' '/^fp16,TN,96/ { $4 = ($4 ~ /0$/ ? substr($4, 1, 15) "1" : substr($4, 1, 15) "0") } { print }' predicted.txt > wrong.txt
ends 3 'verdicts on other predictions; give another --out' "$ulplab" gpu judge --device $device wrong.txt --out parts.csv
cmp parts.csv judged.csv
ends 4 '2 equal, 1 different' "$ulplab" gpu judge --device $device wrong.txt
sed '/^fp16,TN,96/s/;66\./;21./' predicted.txt > moved.txt
ends 4 '1 moved' "$ulplab" gpu judge --device $device moved.txt

# A limit of time that is none; and ends at which nothing was compared.
for seconds in 0 -1 nan inf; do
    for command in 'judge predicted.txt' 'answers --out x.txt' 'bulk' 'fma'; do
        # shellcheck disable=SC2086
        ends 2 '--seconds is ' "$ulplab" gpu $command --device $device --seconds $seconds
    done
    ends 2 '--seconds is ' "$ulplab" gpu cublas-study --seconds $seconds
done
ends 3 'nothing was compared' "$ulplab" gpu fma --device $device --seconds 1e-9
ends 3 'nothing was compared' "$ulplab" gpu experiments --device software:sm_70 --smoke swamping --out x.csv
ends 3 'nothing was compared' "$ulplab" gpu invariance --device $device --type fp32 --layers 64x64 --tokens 8
sed -n '1p;5p' shapes.csv > declined.csv
ends 0 '0 of 1 shapes predicted' "$ulplab" gpu predict --device $device --shapes declined.csv --out declined.txt
ends 3 'nothing was compared' "$ulplab" gpu judge --device $device declined.txt

# Bad input.
ends 3 'declined; predict for this one first' "$ulplab" gpu judge --device software:sm_80 predicted.txt
sed 's/^# cublas .*/# cublas 13.1.0/' predicted.txt > version.txt
ends 3 'cuBLAS 13.1.0' "$ulplab" gpu judge --device $device version.txt
echo 'fp16,TN,0,1,1,1,0' > bad.csv
ends 3 "bad.csv:1: m is '0'" "$ulplab" gpu predict --device $device --shapes bad.csv --out x.txt
CUDA_VISIBLE_DEVICES= ends 3 'ulplab: ' "$ulplab" gpu predict --shapes shapes.csv --out x.txt
ends 3 'ulplab predictions 2' "$ulplab" gpu judge --device $device shapes.csv

# A GPU that is too small for a product, or held by another program: one sentence, and what was found stays.
for line in fp16,TN,32,32,64,1,0 fp16,TN,96,64,512,1,0; do echo "$line"; done > sizes.csv
ends 0 '2 of 2 shapes predicted' "$ulplab" gpu predict --device $device --shapes sizes.csv --out sizes.txt
ends 3 'close other programs on the GPU' "$ulplab" gpu judge --device $device:33600000 sizes.txt --out small.csv
[ "$(wc -l < out.txt)" -eq 1 ]
grep -q 'fp16,TN,32,32,64,1,0,equal' small.csv
grep -q 'fp16,TN,96,64,512,1,0,failed' small.csv
ends 3 'fp16,TN,96,64,512,1,0: cudaMalloc' "$ulplab" gpu judge --device $device:33600000 sizes.txt --out small.csv
ends 0 'taken up after 2 of 2 rows, of which 1 failed' "$ulplab" gpu judge --device $device sizes.txt --out small.csv
grep -q 'fp16,TN,96,64,512,1,0,equal' small.csv
ends 3 'close other programs on the GPU' "$ulplab" gpu bulk --device $device:25000 --instruction mma.m16n8k16.fp16.fp32 --blocks 1 --out bulk.csv
[ "$(grep -c '^mma.*,bits,' bulk.csv)" -eq 1 ]
[ "$(grep -c '^mma.*,chain,' bulk.csv)" -eq 0 ]
ends 3 'close other programs on the GPU' "$ulplab" gpu invariance --device $device:40000000 --type fp16 --layers 256x2048 8192x8192 --tokens 8 64 --out small.csv
grep -q '^fp16,256,2048,64' small.csv
for command in 'info' 'bulk' 'attention' 'functions' 'fma' 'transformer' 'invariance' 'answers --out x' 'judge sizes.txt' \
    'record --out x' 'experiments swamping'; do
    # shellcheck disable=SC2086
    ends 3 'another program holds the GPU exclusively' "$ulplab" gpu $command --device $device:busy
    [ "$(wc -l < out.txt)" -eq 1 ]
done
ends 3 'another program holds the GPU exclusively' "$ulplab" discover --table --unit $device:busy

# Invariance: a layer whose split changes with the number of tokens.
ends 0 'smallest counter-example' "$ulplab" gpu invariance --device $device --type fp16 --layers 256x2048 --tokens 8 64 256 --out table.csv
grep -q '^fp16,256,2048,64,change,change,predicted,' table.csv
grep -q '2 changes over 3 numbers of tokens; 0 wrong predictions of a change, 0 numbers of tokens with other words' out.txt
ends 0 '0 changes over 1 number of tokens;' "$ulplab" gpu invariance --device $device --type fp16 --layers 64x256 --tokens 8
grep -q 'takes two numbers of tokens with a prediction' out.txt
grep -q '^fp16,256,2048,"split 1, else as chosen",same,.*,3,same,.*,0$' table.csv
grep -q "a kernel of one's own.*,3,same," table.csv
ends 2 'is not NxK' "$ulplab" gpu invariance --device $device --layers 4096

# The answers of a function of halves, as they are: bf16 of 1 and 2 are fp16's, of 1 + 2^-7 too; fp32 is wider.
ends 0 'nothing here is evidence' "$ulplab" gpu functions --device $device --count 1 cvt.rn.f16.bf16 cvt.f32.bf16 cvt.rn.f16x2.e4m3x2 --answers results
code() { tail -c "$(($3 * $2))" "results/$1.npy" | od -An -v -tx"$2" -w"$2" | sed -n "$(($4 + 1))p" | tr -d ' '; }
[ "$(code cvt.rn.f16.bf16 2 65536 $((0x3F80)))$(code cvt.rn.f16.bf16 2 65536 $((0x4000)))$(code cvt.rn.f16.bf16 2 65536 $((0x3F81)))" = 3c0040003c08 ]
[ "$(code cvt.f32.bf16 4 65536 $((0xBF81)))$(code cvt.rn.f16x2.e4m3x2 2 256 126)" = bf8100005f00 ]
[ "$(wc -c < results/cvt.rn.f16.bf16.npy)" -eq 131200 ]
ends 0 'differ from the model' "$ulplab" gpu functions --device $device --count 1 cvt.rn.bf16.f32 --answers none
[ ! -e none ]

# fp16's fma, range by range: a run that is taken up, joined and found complete; a file of another run.
ends 0 '131072 of 35185445830656 classes, 0 differ' "$ulplab" gpu fma --device $device --from 7 --count 2 --every 1 --out fma.csv
cp fma.csv two.csv
ends 0 'taken up at pair 9' "$ulplab" gpu fma --device $device --from 7 --count 3 --every 1 --out fma.csv
[ "$(grep -c '^[0-9]' fma.csv)" -eq 3 ]
head -n "$(wc -l < two.csv)" fma.csv | diff - two.csv
ends 3 'this is not the range that begins at pair 0' "$ulplab" gpu fma --device $device --count 1 --out fma.csv
ends 3 'is a run on another device' "$ulplab" gpu fma --device software:sm_80 --from 7 --count 3 --out fma.csv
ends 2 '--from lies below' "$ulplab" gpu fma --device $device --from 536887296
ends 2 '--count and --every are at least 1' "$ulplab" gpu fma --device $device --count 0
ends 2 'a tile of 20 keys' "$ulplab" gpu attention --device $device --tiles 20
[ "$(wc -l < out.txt)" -eq 1 ]

# A product like the library's: 16 x 16 x 16 ones, by stored answers.
# matrix TYPE: the head of a 16 x 16 file; the elements' bytes come from stdin.
matrix() {
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': (16, 16), }"
    cat
}
# result CODE: whether all of d.npy is this number of fp32.
result() { [ "$(tail -c 1024 d.npy | od -An -v -tx4 -w4 | sort | uniq -c | tr -s ' ')" = " 256 $1" ]; }
printf '\x00\x3c%.0s' {1..256} | matrix '<f2' > ones.npy
printf '\x80\x3c%.0s' {1..256} | matrix '<f2' > more.npy  # 1.125, which E4M3 has and E5M2 has not
printf '\x00%.0s' {1..512} | matrix '<f2' > zeros.npy
for i in {0..255}; do printf "\\x$(printf %02x "$i")\\x3c"; done | matrix '<u2' > codes.npy
for line in fp16,NN,16,16,16,1,0 fp16,NN,16,16,16,1,1 fp16,NN,16,16,16,0.5,2 fp16_d16,NN,16,16,16,1,1 e5m2,TN,16,16,16,1,0; do
    echo $line
done > one.csv
"$ulplab" gpu answers --device $device --type none --shapes one.csv --out one.txt > out.txt
stand_in='cublas-0.0.0@sm_90'
ends 0 'no evidence of cuBLAS' "$ulplab" matmul --unit $stand_in --answers one.txt ones.npy ones.npy --out d.npy
result 41800000
ends 0 'cublas-0.0.0@software' "$ulplab" matmul --unit $stand_in --answers one.txt ones.npy ones.npy ones.npy --out d.npy
result 41880000  # 17
ends 0 'cublas-0.0.0@software' "$ulplab" matmul --unit $stand_in --answers one.txt --alpha 0.5 --beta 2 ones.npy ones.npy ones.npy --out d.npy
result 41200000  # 10
ends 0 'cublas-0.0.0@software' "$ulplab" matmul --unit $stand_in --answers one.txt --type fp16_d16 zeros.npy ones.npy codes.npy --out d.npy
cmp <(tail -c 512 d.npy) <(tail -c 512 codes.npy)
ends 0 'cublas-0.0.0@software' "$ulplab" matmul --unit $stand_in --answers one.txt --type e5m2 --transpose b more.npy ones.npy --out d.npy
result 41900000  # 18
ends 3 'e5m2' "$ulplab" matmul --unit $stand_in --answers one.txt --type e5m2 --transpose b ones.npy more.npy --out d.npy
ends 2 'give C after A and B' "$ulplab" matmul --unit $stand_in --answers one.txt --beta 1 ones.npy ones.npy --out d.npy
ends 3 'declined' "$ulplab" matmul --unit cublas-13.1.0@H100 --answers one.txt ones.npy ones.npy --out d.npy
# A version by its first parts, a card by its model's word alone.
sed 's/^source .*/source hardware/; s/^gpu .*/gpu NVIDIA H100 80GB HBM3/; s/^cublas .*/cublas 13.1.0/' one.txt > h100.txt
for like in 13.1.0@H100 13.1@H100 "13.1@NVIDIA H100 80GB HBM3"; do
    ends 0 'cublas-13.1.0@NVIDIA H100 80GB HBM3: ' "$ulplab" matmul --unit "cublas-$like" --answers h100.txt ones.npy ones.npy --out d.npy
done
for like in 13.1@NVIDIA 13.1@80GB 13.1@HBM3 13.1@H10 13@H1000 1@H100 13.@H100 13.1.0.0@H100 @H100; do
    ends 3 '(cublas-13.1.0@H100), not of' "$ulplab" matmul --unit "cublas-$like" --answers h100.txt ones.npy ones.npy --out d.npy
done
ends 3 'declined: no answers are stored' "$ulplab" matmul --unit $stand_in --answers one.txt --transpose a ones.npy ones.npy --out d.npy
ends 3 'the program knows cuBLAS 13.1.0 on H100 and H200 with m = n of 16' "$ulplab" matmul --unit $stand_in ones.npy ones.npy --out d.npy
# Without answers: the shapes of the committed study. Ones are their own transpose.
ends 0 'sm_90:mma.fp16.fp32, ascending k' "$ulplab" matmul --unit cublas-13.1@H100 --transpose b ones.npy ones.npy --out d.npy
result 41800000
ends 0 'sm_90:mma.tf32.fp32, split-k 4' "$ulplab" matmul --unit cublas-13.1.0@H200 --type tf32 --transpose b ones.npy ones.npy --out d.npy
for other in "cublas-13.1@H100" "cublas-13.2@H100 --transpose b" "cublas-13.1@A100 --transpose b" "cublas-13.1@H100 --transpose b --alpha 2" \
    "cublas-13.1@H100 --transpose b --type fp16_d16"; do
    # shellcheck disable=SC2086
    ends 3 'declined' "$ulplab" matmul --unit $other ones.npy ones.npy --out d.npy
done
ends 3 'for 16 x 16 x 16 of fp32 is not known' "$ulplab" matmul --unit cublas-13.1@H100 --transpose b --type fp32 ones.npy ones.npy --out d.npy
ends 2 'give cublas-VERSION@CARD' "$ulplab" matmul --unit cublas-nothing --answers one.txt ones.npy ones.npy --out d.npy
ends 2 'say what multiplies' "$ulplab" matmul ones.npy ones.npy --out d.npy
