#!/usr/bin/env bash
# All of the hardware work in one go, planned for 14 minutes on an H200:
#
#     gpu/verify_all.sh [--build] [--dry-run] [--recordings DIR] [--bulk-seconds S] OUT
#
# Writes everything that is worth keeping under OUT: info.txt, probes.txt, discovery.txt, recordings/CARD/, traces/,
# experiments.csv, bulk.csv, throughput.csv, cublas_study.csv, and summary.txt with every step's exit code and time. Goes
# on after a step that fails; the exit code is 0 if all were good, 4 if only bits differ, 1 otherwise.
#
#   --build           build the program first (preset release); else ULPLAB, or build/release/bin/ulplab
#   --dry-run         a model of sm_90 in place of the GPU, few cases; what needs a GPU is left out
#   --recordings DIR  published recordings to run live, too (more than once if need be)
#   --bulk-seconds S  for each instruction and class of inputs of the bulk run (default 0.8)
set -u -o pipefail

usage() { sed -n '2,15s/^# \{0,1\}//p' "$0"; }

root=$(cd "$(dirname "$0")/.." && pwd)
build=no
dry=no
bulk_seconds=0.8
recordings=()
out=
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=yes ;;
        --dry-run) dry=yes ;;
        --recordings) [ $# -ge 2 ] || { usage >&2; exit 2; }; recordings+=("$2"); shift ;;
        --bulk-seconds) [ $# -ge 2 ] || { usage >&2; exit 2; }; bulk_seconds=$2; shift ;;
        -h|--help) usage; exit 0 ;;
        -*) echo "verify_all.sh: there is no option $1; see --help" >&2; exit 2 ;;
        *) [ -z "$out" ] || { echo "verify_all.sh: one output folder, not two" >&2; exit 2; }; out=$1 ;;
    esac
    shift
done
[ -n "$out" ] || { echo "verify_all.sh: name the output folder; see --help" >&2; exit 2; }
mkdir -p "$out/traces" "$out/logs" || exit 3

if [ "$build" = yes ]; then
    (cd "$root" && cmake --preset release -DULPLAB_GPU=ON -DULPLAB_TESTS=OFF && cmake --build build/release --target ulplab) \
        > "$out/logs/build.log" 2>&1 || { echo "verify_all.sh: the build failed; see $out/logs/build.log" >&2; exit 3; }
fi
ulplab=${ULPLAB:-$root/build/release/bin/ulplab}
[ -x "$ulplab" ] || { echo "verify_all.sh: no program $ulplab; build it (--build) or set ULPLAB" >&2; exit 3; }

device=cuda
[ "$dry" = no ] || device=software:sm_90
summary=$out/summary.txt
: > "$summary"
worst=0
started=$(date +%s)

# step NAME LIMIT COMMAND...: runs it with a time limit, its output in logs/NAME.log, a line in the summary.
step() {
    local name=$1 limit=$2 from code line
    shift 2
    from=$(date +%s)
    timeout "$limit" "$@" > "$out/logs/$name.log" 2>&1
    code=$?
    line=$(printf '%-28s exit %-3d %4d s' "$name" "$code" "$(($(date +%s) - from))")
    echo "$line" | tee -a "$summary"
    if [ "$code" -ne 0 ]; then
        grep -v '^[a-z]*,' "$out/logs/$name.log" | tail -n 3 | cut -c 1-300 | sed 's/^/    /' | tee -a "$summary"
        if [ "$code" -ne 4 ]; then worst=1; elif [ "$worst" -eq 0 ]; then worst=4; fi
    fi
    return "$code"
}

step info 60 "$ulplab" gpu info --device "$device"
info=$?
cp "$out/logs/info.log" "$out/info.txt"
if [ "$info" -ne 0 ]; then
    echo "verify_all.sh: no usable GPU; --dry-run tries the script without one" >&2
    cat "$out/info.txt" >&2
    exit 3
fi

architecture=$(sed -n 's/^# architecture //p' "$out/info.txt")

step probe 60 "$ulplab" discover --table --unit "$device" --out "$out/probes.txt"

if [ "$dry" = yes ]; then
    step record 120 "$ulplab" gpu record --device "$device" --instruction mma --count 1 --out "$out/recordings"
else
    step record 120 "$ulplab" gpu record --device "$device" --out "$out/recordings"
fi
# The same inputs once more: a unit whose answers change from run to run would show here.
step verify_again 60 "$ulplab" verify --device "$device" "$out/recordings"
# And against the models, where no GPU is needed.
step replay 120 "$ulplab" verify --device "software:$architecture" "$out/recordings"
for folder in ${recordings[@]+"${recordings[@]}"}; do
    step "verify_$(basename "$folder")" 60 "$ulplab" verify --device "$device" "$folder"
done

# The parameters of its instructions, found by asking them.
if [ "$dry" = no ]; then
    for family in mma wgmma tcgen05; do
        for types in "fp16 fp32 16" "fp16 fp16 16" "bf16 fp32 16" "tf32 fp32 8" "e4m3 fp32 32" "e5m2 fp16 32"; do
            read -r input output k <<< "$types"
            grep -q "^$family\.[a-z0-9]*\.$input\.$output " "$out/info.txt" || continue  # this GPU has none
            step "discover_${family}_${input}_$output" 30 "$ulplab" discover --unit "cuda:$family" --format "$input,$output" \
                -k "$k"
            cat "$out/logs/discover_${family}_${input}_$output.log" >> "$out/discovery.txt"
            echo >> "$out/discovery.txt"
        done
    done
fi

# The experiments' own products, each computed by the GPU too.
if [ "$dry" = yes ]; then
    step experiments 60 "$ulplab" gpu experiments --device "$device" --smoke --out "$out/experiments.csv" overflow swamping
else
    step experiments 300 "$ulplab" gpu experiments --device "$device" --out "$out/experiments.csv"
fi

# Training: every product on the GPU, against the software run. The software runs go on beside what the GPU does.
steps=500
[ "$dry" = no ] || steps=3
families="mma"
case $architecture in
    sm_90) families="mma wgmma" ;;
    sm_100) families="mma tcgen05" ;;
    sm_80|sm_86|sm_89|sm_120) ;;
    *)
        families=  # compared with nothing: what it computes is discovered
        echo "training                     left out: no backend is the model of $architecture" | tee -a "$summary"
        ;;
esac
# software_backend FAMILY: the model of this GPU's instructions. Where a generation has one family, it needs no name.
software_backend() {
    case $architecture in
        sm_80) echo soft:a100 ;;
        sm_86) echo soft:a2 ;;
        sm_89) echo soft:ada ;;
        sm_100) echo "soft:b200.$1" ;;
        sm_120) echo soft:rtx5090 ;;
        sm_90) echo "soft:h100.$1" ;;
    esac
}
training=(--images 4000 --learning-rate 0.1 --steps "$steps")  # a net of two layers on generated digits
software_runs=()
for family in $families; do
    for recipe in mixed_fp16 bf16 tf32; do
        OMP_NUM_THREADS=2 "$ulplab" train "${training[@]}" --unit "$(software_backend "$family")" --recipe "$recipe" \
            --trace "$out/traces/software.$family.$recipe.trace" > "$out/logs/train_software_${family}_$recipe.log" 2>&1 &
        software_runs+=($!)
    done
done
if [ "$dry" = no ]; then
    for family in $families; do
        for recipe in mixed_fp16 bf16 tf32; do
            step "train_${family}_$recipe" 90 "$ulplab" train "${training[@]}" --unit "cuda:$family" --recipe "$recipe" \
                --trace "$out/traces/$architecture.$family.$recipe.trace"
        done
    done
fi

bulk_limit=$(awk "BEGIN { print int($bulk_seconds * 200) + 60 }")
if [ "$dry" = yes ]; then
    step bulk 120 "$ulplab" gpu bulk --device "$device" --blocks 3000 --out "$out/bulk.csv"
else
    step bulk "$bulk_limit" "$ulplab" gpu bulk --blocks 1e13 --seconds "$bulk_seconds" --out "$out/bulk.csv"
    step bulk_plain 60 "$ulplab" gpu bulk --plain --blocks 1e8 --seconds 0.1 --out "$out/bulk_plain.csv"
    step bulk_all 90 "$ulplab" gpu bulk --instruction all --blocks 1e7 --out "$out/bulk_all.csv"
    step throughput 60 "$ulplab" gpu throughput --out "$out/throughput.csv"
    step cublas_study 120 "$ulplab" gpu cublas-study --seconds 90 --out "$out/cublas_study.csv"
    if command -v compute-sanitizer > /dev/null; then
        step sanitizer 90 compute-sanitizer --error-exitcode 1 "$ulplab" gpu bulk --instruction mma.m16n8k16.fp16.fp32 \
            --blocks 1e5
        for instruction in wgmma.m64n8k16.fp16.fp32 tcgen05.m128n16k16.fp16.fp32; do
            grep -q "^$instruction " "$out/info.txt" || continue  # this GPU has none
            step "sanitizer_${instruction%%.*}" 90 compute-sanitizer --error-exitcode 1 "$ulplab" gpu bulk \
                --instruction "$instruction" --blocks 1e5
            step "racecheck_${instruction%%.*}" 90 compute-sanitizer --tool racecheck --error-exitcode 1 "$ulplab" gpu bulk \
                --instruction "$instruction" --class chain --blocks 1e5
        done
    fi
fi
# The kernels that no bulk run starts; a dry run calls the same without the sanitizer.
sanitizer=(compute-sanitizer --error-exitcode 1)
few=()
[ "$dry" = no ] || { sanitizer=(); few=(cvt.rn.bf16.f32); }
if [ "$dry" = yes ] || command -v compute-sanitizer > /dev/null; then
    step sanitizer_attention 90 ${sanitizer[@]+"${sanitizer[@]}"} "$ulplab" gpu attention --device "$device" --size 16 64
    step sanitizer_functions 90 ${sanitizer[@]+"${sanitizer[@]}"} "$ulplab" gpu functions --device "$device" --count 1 \
        ${few[@]+"${few[@]}"}
    step sanitizer_fma 90 ${sanitizer[@]+"${sanitizer[@]}"} "$ulplab" gpu fma --device "$device" --every 2 --count 2
else
    echo "sanitizer                    left out: there is no compute-sanitizer" | tee -a "$summary"
fi

for run in "${software_runs[@]}"; do
    wait "$run" || { worst=1; echo "a software training run failed; see $out/logs" | tee -a "$summary"; }
done
for family in $families; do
    for recipe in mixed_fp16 bf16 tf32; do
        gpu_trace=$out/traces/$architecture.$family.$recipe.trace
        [ "$dry" = no ] || gpu_trace=$out/traces/software.$family.$recipe.trace
        step "compare_${family}_$recipe" 30 "$ulplab" compare "$gpu_trace" "$out/traces/software.$family.$recipe.trace"
    done
done

echo "total                                 $(($(date +%s) - started)) s" | tee -a "$summary"
if [ "$dry" = yes ]; then
    echo "dry run: a model stood in for the GPU; nothing here is evidence" | tee -a "$summary"
fi
exit "$worst"
