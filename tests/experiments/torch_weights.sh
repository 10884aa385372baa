#!/usr/bin/env bash
# Weights that PyTorch wrote (a state_dict through numpy.savez) are those that train starts from: its first loss is
# PyTorch's own on the same digits, to 1e-4 (PyTorch's sums have no written order).
# Usage: torch_weights.sh ULPLAB
set -euo pipefail
ulplab=$1
. "$(dirname "$0")/torch_python.sh"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$python" - "$folder" <<'PY'
import sys
import numpy
import torch
torch.manual_seed(1)
torch.set_num_threads(1)
net = torch.nn.Sequential()
net.add_module("conv", torch.nn.Conv2d(1, 4, 3, padding=1))
net.add_module("bn", torch.nn.BatchNorm2d(4))
net.add_module("relu", torch.nn.ReLU())
net.add_module("flatten", torch.nn.Flatten())
net.add_module("fc", torch.nn.Linear(4 * 8 * 8, 5))
x = torch.randn(40, 1, 8, 8)
y = torch.randint(0, 5, (40,))
numpy.save(sys.argv[1] + "/x.npy", x.numpy())
numpy.save(sys.argv[1] + "/y.npy", y.numpy())
weights = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
numpy.savez(sys.argv[1] + "/stored.npz", **weights)
numpy.savez_compressed(sys.argv[1] + "/deflated.npz", **weights)
# The batch is all 36 examples that are not for testing: their order does not matter.
open(sys.argv[1] + "/loss", "w").write(str(torch.nn.functional.cross_entropy(net(x[:36]), y[:36]).item()))
PY
cat >"$folder/net.json" <<'JSON'
{"name": "torch", "task": "images", "input": {"shape": [1, 8, 8]}, "outputs": 5, "layers": [
  {"layer": "conv", "name": "conv", "channels": 4, "kernel": 3}, {"layer": "batch_norm", "name": "bn"},
  {"layer": "relu"}, {"layer": "linear", "name": "fc"}]}
JSON
for weights in stored deflated; do
    "$ulplab" train --net "$folder/net.json" --weights "$folder/$weights.npz" --data "$folder/x.npy" \
        --labels "$folder/y.npy" --recipe fp32 --batch 36 --steps 1 >"$folder/out"
    awk -v expected="$(cat "$folder/loss")" '
        /^step +0 / { found = 1; error = $4 - expected; if (error < 0) error = -error; if (error > 1e-4) exit 1 }
        END { if (!found || error > 1e-4) { print "the loss is not PyTorch'"'"'s, " expected; exit 1 } }' "$folder/out" ||
        { cat "$folder/out" >&2; exit 1; }
done
echo "the first losses are PyTorch's"
