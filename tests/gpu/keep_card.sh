#!/usr/bin/env bash
# What gpu/keep_card.sh keeps of a card: digests where its answers are those of another one, all files where one bit differs,
# and nothing of a dry run. Usage: keep_card.sh ROOT
set -euo pipefail
. "$1/gpu/card_files.sh"
known=$1/tests/recordings/h100_80gb_hbm3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out own=$work/out/recordings/h100_pcie
mkdir -p "$own" "$out/traces" "$work/root/tests/recordings"
cp -r "$known" "$work/root/tests/recordings"
sed 's/^# gpu .*/# gpu NVIDIA H100 PCIe/' "$known/info.txt" > "$out/info.txt"
cp "$known/bulk.csv" "$out"
renamed_files "$known" "NVIDIA H100 PCIe" "$own"
mv "$own"/*.trace "$out/traces"
kept=$work/root/tests/recordings/h100_pcie
fail() { echo "$1" >&2; exit 1; }

"$1/gpu/keep_card.sh" "$out" "$work/root"
[ "$(ls "$kept")" = "$(printf 'bulk.csv\ninfo.txt\nsame_as_h100_80gb_hbm3.sha256')" ] || fail "equal answers are not kept as digests"
[ "$(wc -l < "$kept/same_as_h100_80gb_hbm3.sha256")" -eq "$(find "$own" "$out/traces" -type f | wc -l)" ] || fail "not a digest a file"

file=$(ls "$own" | head -n 1)
sed -i '$s/.$/x/' "$own/$file"
"$1/gpu/keep_card.sh" "$out" "$work/root"
! ls "$kept" | grep -q same_as || fail "a changed answer is kept as the other card's"
cmp "$own/$file" "$kept/$file"

sed -i 's/^# source hardware/# source software/' "$out/info.txt"
! "$1/gpu/keep_card.sh" "$out" "$work/root" 2> "$work/said" || fail "a dry run is kept"
grep -q 'no evidence' "$work/said"
