#!/usr/bin/env bash
# What gpu/keep_card.sh keeps of a card: digests where its answers are those of another one, all files where one bit differs,
# nothing of a dry run; it takes nothing from a card that is there; and a volunteer's folder is kept and shown by
# docs/hardware.sh. Usage: keep_card.sh ROOT
set -euo pipefail
. "$1/gpu/card_files.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
known=$work/known/h100_80gb_hbm3  # some of its files
mkdir -p "$known"
(cd "$1/tests/recordings/h100_80gb_hbm3" && cp -- *.csv *.txt mma.m16n8k8.*.recording wgmma.*fp16.fp32.recording *.bf16.trace "$known")
out=$work/out own=$work/out/recordings/h100_pcie
all=$work/root/tests/recordings
mkdir -p "$own" "$out/traces" "$all"
cp -r "$known" "$all"
sed 's/^# gpu .*/# gpu NVIDIA H100 PCIe/' "$known/info.txt" > "$out/info.txt"
cp "$known/bulk.csv" "$out"
renamed_files "$known" "NVIDIA H100 PCIe" "$own"
mv "$own"/*.trace "$out/traces"
kept=$all/h100_pcie
fail() { echo "$1" >&2; exit 1; }
keep() { "$1/gpu/keep_card.sh" "$2" "$work/root"; }
refuses() {  # ROOT OUT WORDS
    local code=0
    (cd "$all" && find . -type f -exec sha256sum {} + | sort) > "$work/before"
    keep "$1" "$2" 2> "$work/said" || code=$?
    [ "$code" -eq 3 ] || fail "exit code $code where '$3' belongs"
    grep -q "$3" "$work/said" || fail "not said: $3"
    (cd "$all" && find . -type f -exec sha256sum {} + | sort) | cmp - "$work/before"
}

keep "$1" "$out"
[ "$(ls "$kept")" = "$(printf 'bulk.csv\ninfo.txt\nsame_as_h100_80gb_hbm3.sha256')" ] || fail "equal answers are not kept as digests"
[ "$(wc -l < "$kept/same_as_h100_80gb_hbm3.sha256")" -eq "$(find "$own" "$out/traces" -type f | wc -l)" ] || fail "not a digest a file"

# The first card again, on a later day: what else it has stays, and the second card's digests become files.
again=$work/again
mkdir -p "$again/recordings/h100_80gb_hbm3"
sed 's/^# date .*/# date 2030-01-01/' "$known/info.txt" > "$again/info.txt"
sed 's/^# date .*/# date 2030-01-01/' "$known/bulk.csv" > "$again/bulk.csv"
sed 's/^# date .*/# date 2030-01-01/' "$known/probes.txt" > "$again/probes.txt"
grep '^#' "$known/throughput.csv" > "$again/throughput.csv"  # no library
for file in "$known"/mma.m16n8k8.*.recording; do
    sed 's/^date .*/date 2030-01-01/' "$file" > "$again/recordings/h100_80gb_hbm3/$(basename "$file")"
done
first=$all/h100_80gb_hbm3
cp "$known/bulk.csv" "$first/judged_one.csv"
cp "$known/probes.txt" "$first/predicted_one.txt"
cp -r "$first" "$work/first"
keep "$1" "$again"
{ diff -rq "$work/first" "$first" || true; } | sed 's/.* and .*\/\(.*\) differ$/\1/' | sort > "$work/changed"
(cd "$again" && ls bulk.csv info.txt probes.txt && cd recordings/h100_80gb_hbm3 && ls) | sort | diff - "$work/changed" ||
    fail "other files than those of the new run have changed"
cmp "$again/probes.txt" "$first/probes.txt"
[ ! -e "$kept/same_as_h100_80gb_hbm3.sha256" ] || fail "digests stand for files that are gone"
for file in "$own"/* "$out/traces"/*; do
    cmp "$file" "$kept/$(basename "$file")"
done

# One bit differs from the card whose digests would stand for it.
rm -r "$first" "$kept"
cp -r "$known" "$all"
keep "$1" "$out"
file=$(ls "$own" | head -n 1)
sed -i '$s/.$/x/' "$own/$file"
keep "$1" "$out"
! ls "$kept" | grep -q same_as || fail "a changed answer is kept as the other card's"
cmp "$own/$file" "$kept/$file"

# What the recorder of one file writes, of either vendor, beside which other cards are kept as before.
volunteer=$work/my-gpu
amd=$work/my-amd
mkdir "$volunteer"
cp "$known"/mma.m16n8k8.*.recording "$volunteer"
sed -i '1,8s/^gpu .*/gpu NVIDIA L40S/; 1,8s/^architecture .*/architecture sm_89/; 1,9s/^model .*/model none/' "$volunteer"/*
mkdir -p "$amd/gfx942/mfma.16x16x16.fp16.fp32/fp16"
for name in a_gfx942_fp16 b_gfx942_fp16 c_gfx942_fp32 d_gfx942_fp32; do
    echo 0 > "$amd/gfx942/mfma.16x16x16.fp16.fp32/fp16/$name.txt"
done
for one in "$volunteer" "$amd" "$out"; do
    keep "$1" "$one"
done
diff -r "$volunteer" "$all/l40s"
diff -r "$amd/gfx942" "$all/gfx942"
"$1/docs/hardware.sh" "$work/root" > "$work/hardware.md"
for words in '^## NVIDIA L40S, sm_89' '^CUDA 13.0, 2026' '^5 recordings by .*/tests/recordings/l40s)' '^## gfx942' \
    '^One recording by .*/gfx942)' '^## NVIDIA H100 PCIe'; do
    grep -q "$words" "$work/hardware.md" || fail "docs/hardware.sh does not say $words"
done

sed -i 's/^gpu .*/gpu NVIDIA H100 80GB HBM3/' "$volunteer"/*
refuses "$1" "$volunteer" 'is there with more'
sed -i '2s/hardware/software/' "$volunteer/mma.m16n8k8.fp16.fp16.recording"
sed -i 's/^gpu .*/gpu NVIDIA L40/' "$volunteer"/*
refuses "$1" "$volunteer" 'no evidence'
sed -i '3s/.*/gpu another/' "$volunteer/mma.m16n8k8.fp16.fp16.recording"
refuses "$1" "$volunteer" 'more than one GPU'
refuses "$1" "$work" 'no answers of a GPU'
sed -i 's/^# source hardware/# source software/' "$out/info.txt"
refuses "$1" "$out" 'no evidence'
