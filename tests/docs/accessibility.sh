#!/usr/bin/env bash
# axe-core finds nothing on the site, the report and the pages of commands. Usage: accessibility.sh ULPLAB SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
ulplab=$1
source=$2
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || { echo "skipped: no Chromium; apt-get install chromium"; exit 0; }
axe=$(find "$3/venv" -path '*/axe_core_python/axe.min.js' 2>/dev/null | head -1)
[ -n "$axe" ] || { echo "skipped: no PyPI: axe-core-python comes with ./check.sh"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quiet() { "$@" >"$work/log" 2>&1 || [ $? -le "${allowed:-0}" ] || { cat "$work/log" >&2; exit 1; }; }

allowed=1 quiet "$ulplab" run fusion underflow --smoke --out "$work"  # 1: another verdict
quiet "$ulplab" report --out "$work"
quiet "$ulplab" site --out "$work"
dump=$source/docs/diverged
quiet "$ulplab" inspect "$dump" --page "$work/inspect.html"
quiet "$ulplab" diagnose "$dump" --loss-scale 262144 --page "$work/diagnose.html"
allowed=4 quiet "$ulplab" compare "$dump/grads_40.npz" "$dump/grads_45.npz" --page "$work/compare.html"
python3 - "$work" <<'END'
import json, random, sys
draw = random.Random(1)
rows = [{"tokens": [draw.randrange(500) for _ in range(64)], "logprobs": [-draw.random() * 3 for _ in range(64)]} for _ in range(4)]
for name in "ab":
    with open(f"{sys.argv[1]}/{name}.jsonl", "w") as file:
        file.writelines(json.dumps({**row, "logprobs": [x - .01 * draw.random() for x in row["logprobs"]]}) + "\n" for row in rows)
END
allowed=4 quiet "$ulplab" compare "$work/a.jsonl" "$work/b.jsonl" --page "$work/mismatch.html"
quiet "$ulplab" search format --net mlp --recipe bf16,mixed_fp16@2^30 --all --steps 5 --images 100 --seeds 2 --out "$work/search" \
    --page "$work/recipes.html"

# The control: an image without words, and a letter in the colour of the page.
sed 's|</main>|<img src="data:,"><p style="color: #eee; background: #fff">pale</p></main>|' "$work/report-sources.html" >"$work/fault.html"
python3 "$source/tests/docs/accessibility.py" "$chromium" "$axe" "$work/fault.html" >"$work/found" && { echo "the fault is not found" >&2; exit 1; }
for name in image-alt color-contrast; do grep -q "^$name:" "$work/found" || { echo "not found: $name" >&2; exit 1; }; done
cd "$work/site"
python3 "$source/tests/docs/accessibility.py" "$chromium" "$axe" "$work"/{report,report-[a-z]*,inspect,diagnose,compare,mismatch,recipes}.html \
    index.html find.html search.html guides.html diverged.html lessons/{index,questions,0[148]*}.html exercises/index.html playground/index.html \
    notebooks/{index,fp8_bits}.html reference/{index,formats}.html report/report.html
