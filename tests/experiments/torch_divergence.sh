#!/usr/bin/env bash
# A Transformer that PyTorch trains in fp16 diverges; `ulplab diagnose` names the loss scale from its gradients alone, and
# with that it trains. Usage: torch_divergence.sh ULPLAB
set -euo pipefail
ulplab=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/torch_python.sh"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
fail() { echo "$1" >&2; cat "$folder"/*.out >&2; exit 1; }

mkdir "$folder/before" "$folder/after"
"$python" "$here/torch_divergence.py" "$folder/before" 18 >"$folder/before.out"
grep -q 'loss nan' "$folder/before.out" || fail "the run with 2^18 did not diverge"
"$ulplab" diagnose "$folder/before" --loss-scale 262144 >"$folder/diagnosis.out"
grep -q '^1\. The first tensor that is not finite is grads_' "$folder/diagnosis.out" || fail "no first tensor is named"
exponent=$(sed -n 's/.*Lower the loss scale to 2^\([0-9]*\),.*/\1/p' "$folder/diagnosis.out")
[ -n "$exponent" ] || fail "no loss scale is named"
"$python" "$here/torch_divergence.py" "$folder/after" "$exponent" >"$folder/after.out"
grep -q 'not finite' "$folder/after.out" && fail "the run with 2^$exponent is not finite"
awk '/^step  59 / && $4 < 0.6 { good = 1 } END { exit !good }' "$folder/after.out" || fail "2^$exponent does not suffice"
"$ulplab" diagnose "$folder/after" --loss-scale $((1 << exponent)) >"$folder/corrected.out"
grep -q 'is among them' "$folder/corrected.out" || fail "the corrected run's scale is not found to fit"
echo "2^18 diverges, 2^$exponent trains"
