#!/usr/bin/env bash
# Prints docs/hardware.md: what GPUs answered, from the files in tests/recordings. Usage: docs/hardware.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# field NAME FILE: a line of a file's header, of the project's recordings too; "unknown" where it is not there.
field() {
    local value=
    [ ! -f "$2" ] || value=$(sed -nE "/^(# )?$1 /{s///p;q}" "$2")
    echo "${value:-unknown}"
}

# recorded_alone FOLDER: a card of which only recordings are there, by the recorder of one file.
recorded_alone() {
    local folder=${1%/} first sets count
    first=$(find "$folder" -name '*.recording' | sort | head -n 1)
    if [ -n "$first" ]; then
        sets=$(find "$folder" -name '*.recording' | wc -l)
        echo "## $(field gpu "$first"), $(field architecture "$first")"
        echo
        echo "CUDA $(field cuda "$first" | cut -d ' ' -f 2), $(field date "$first")."
    else
        sets=$(find "$folder" -name 'd_*.txt' | wc -l)
        [ "$sets" -gt 0 ] || return 0
        echo "## $(basename "$folder")"
    fi
    count="$sets recordings"
    [ "$sets" -ne 1 ] || count="One recording"
    cat <<TEXT

$count by [ulplab_record](volunteers.md), in [$(basename "$folder")](../$folder). No bulk run, no training and no cuBLAS: the rows that
the recordings decide say *recorded*.

TEXT
}

cat <<'TEXT'
# Hardware results: models against real GPUs

Made by `docs/hardware.sh` from the files in [tests/recordings](../tests/recordings), which `gpu/verify_all.sh` wrote on
each GPU. [docs/gpu.md](gpu.md) tells how to make more of them.

TEXT
for folder in tests/recordings/*/; do
    info=$folder/info.txt
    if [ ! -f "$info" ]; then
        recorded_alone "$folder"
        continue
    fi
    architecture=$(field architecture "$info")
    cat <<TEXT
## $(field gpu "$info"), $architecture

Driver $(field driver "$info"), CUDA $(field cuda "$info" | cut -d ' ' -f 2), cuBLAS $(field cublas "$folder/throughput.csv"), $(field date "$info").
TEXT
    if compgen -G "$folder/bulk*.csv" > /dev/null; then
    cat <<'TEXT'

### Bulk runs

Random inputs in six classes, made, multiplied and compared on the GPU. A mutant is the model with one fraction bit less: if
the mutant passed too, the check would prove nothing. Integer and fp64 instructions have no such mutant.

| instruction | row of the model table | blocks | mismatches | the mutant differs in |
|---|---|---|---|---|
TEXT
    awk -F, '
        /^#/ || /^instruction,/ { next }
        {
            run = $1 SUBSEP $3 SUBSEP $4
            if ($5 > most[run]) { blocks[$1] += $5 - most[run]; most[run] = $5 }
            if (!($1 in model)) order[++count] = $1
            model[$1] = $2
            mismatches[$1] += $7
            if ($10 > 0 && !(run in seen)) { wrong[$1] += $9; of[$1] += $10 }
            seen[run] = 1
        }
        END {
            for (i = 1; i <= count; ++i) {
                name = order[i]
                share = of[name] ? sprintf("%.2g %%", 100 * wrong[name] / of[name]) : ""
                printf "| `%s` | `%s` | %.1e | %d | %s |\n", name, model[name], blocks[name], mismatches[name], share
            }
        }' "$folder"/bulk*.csv | sed 's/e+0*\([0-9]\)/e\1/'
    fi
    if [ -f "$folder/probes.txt" ]; then
    cat <<'TEXT'

### Open points, settled

The inputs on which the published models disagree (`ulplab discover --table --unit cuda`; the hypotheses are those of
[softfloat/matrix_units/policies.hpp](../softfloat/matrix_units/policies.hpp)).

| probe | instruction | answer | supports | against |
|---|---|---|---|---|
TEXT
    awk '/^#/ { next } /supports/ {
        answer = $3
        line = $0
        sub(/.*supports /, "", line)
        supports = line; sub(/ +against .*/, "", supports)
        against = line; sub(/.*against /, "", against); sub(/ +(as the row|the row gives.*|the model table.*)$/, "", against)
        printf "| %s | `%s` | %s | %s | %s |\n", $1, $2, answer, supports, against
    }' "$folder/probes.txt"
    fi
    if [ -f "$folder/cublas_study.csv" ]; then
    cat <<'TEXT'

### cuBLAS, explained

Products of cuBLAS and cublasLt (16 to 512 rows and columns, k from 16 to 2048) that a row of the model table and an order
of summation give bit for bit (`ulplab gpu cublas-study`). The order is found by masking probes and by trying, after the product is seen: this explains
products, it predicts none. Predictions made before a run (`ulplab gpu predict`) have not been judged on a GPU yet.

| product | order | shapes |
|---|---|---|
TEXT
    # The prediction is the ninth field, quoted, "KEY, ORDER".
    awk -F'"' '/^[a-z]/ && $1 !~ /^product,/ {
        split($1, c, ",")
        order = c[6] == "yes" ? $2 : c[6] == "no" ? "not predicted" : "skipped: " $2
        key = c[1] SUBSEP order
        if (!(key in shapes)) list[++count] = key
        ++shapes[key]
        all[c[1]] += c[6] != "skipped"
    }
    END {
        for (i = 1; i <= count; ++i) {
            split(list[i], part, SUBSEP)
            printf "| `%s` | %s | %d of %d |\n", part[1], part[2], shapes[list[i]], all[part[1]]
        }
    }' "$folder/cublas_study.csv" | sort
    fi
    if [ -f "$folder/throughput.csv" ]; then
    cat <<'TEXT'

### Throughput

10^12 operations a second of products of random data, the median of 11, and the instructions that ran, by the kernels'
names. "not offered": cublasLt has no such product.

| product | square | k odd | k even | k a multiple of 4 | k a multiple of 8 | m odd | n odd | all odd | k = 64 | k = 256 | k = 1024 |
|---|---|---|---|---|---|---|---|---|---|---|---|
TEXT
    awk -F, '/^#/ || /^product,/ { next }
        $2 == "cublas" || $1 ~ /^(e4m3|e5m2|s8)$/ {
            if (!($1 in rows)) order[++count] = $1
            rows[$1] = rows[$1] " | " ($8 == "" ? "not offered" : sprintf("%.0f %s", $8, $9))
        }
        END { for (i = 1; i <= count; ++i) printf "| `%s`%s |\n", order[i], rows[order[i]] }' "$folder/throughput.csv"
    echo
    echo "Square: m = n = k = 4096, the others a little off in the extent named, or short in k."
    fi
    if same=$(ls "$folder"same_as_*.sha256 2> /dev/null); then
        other=$(basename "$same" .sha256)
        other=tests/recordings/${other#same_as_}
        cat <<TEXT

### Recordings and training

The same files as those of the $(field gpu "$other/info.txt"), but for the name in them: $(grep -c recording "$same") recordings, with
the answers to the probes, and $(grep -c trace "$same") traces of 500 training steps ([digests](../$same)).

TEXT
        continue
    fi
    compgen -G "$folder/*.trace" > /dev/null || { echo; continue; }
    cat <<'TEXT'

### Training

A 784-128-10 net on generated digits, 500 steps, every product on the GPU: the loss's bits and a digest of each tensor
after each step equal those of the software run.

| recipe | instructions | steps | trace |
|---|---|---|---|
TEXT
    for trace in "$folder"/*.trace; do
        name=$(basename "$trace")
        IFS=. read -r _ family recipe _ <<<"$name"
        echo "| \`$recipe\` | $family | $(sed -n 's/^# --steps //p' "$trace") | [$name](../$folder$name) |"
    done
    echo
done
