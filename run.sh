#!/usr/bin/env bash
# Builds ulplab and runs its experiments; leaves out/report.html and out/site. Usage: ./run.sh [--quick|--full] [--no-install] [NAME...]
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

mode=--quick
install=yes
names=()
for argument in "$@"; do
    case $argument in
        --quick | --full) mode=$argument ;;
        --no-install) install=no ;;
        -h | --help)
            echo "Usage: ./run.sh [--quick|--full] [--no-install] [NAME...]"
            echo "Installs missing Debian packages and builds into build/release. Without names it runs all experiments"
            echo "and writes out/report.html and out/site; with names it builds and runs these alone, in less time, and leaves their"
            echo "figures in out/NAME. --no-install stops where a package is missing."
            exit 0 ;;
        -*) echo "run.sh: unknown option $argument; see ./run.sh --help" >&2; exit 2 ;;
        *) names+=("$argument") ;;
    esac
done
[ "${names[*]}" != all ] || names=()
mapfile -t experiments < <(sed -n 's/^namespace ulp::\([a-z0-9_]*\)_experiment {$/\1/p' experiments/*.cpp experiments/*/*.cpp)
for name in "${names[@]}"; do
    if [[ " ${experiments[*]} " != *" $name "* ]]; then
        echo "run.sh: there is no experiment \"$name\"; choose from ${experiments[*]}" >&2
        exit 2
    fi
done

timed packages install_packages "$install"
timed configuration configure release
failed=0
if [ ${#names[@]} -gt 0 ]; then
    timed compilation build release "${names[@]}"
    begin=$SECONDS
    for name in "${names[@]}"; do
        status=0
        "build/release/single/$name" "$mode" || status=$?
        [ "$status" -le 1 ] || exit "$status"
        [ "$status" -eq 0 ] || failed=1
        for figure in "out/$name"/*.png; do [ ! -f "$figure" ] || echo "Figure: $PWD/$figure"; done
    done
    say_what_is_left_out release
    echo "Time: $times, experiments $((SECONDS - begin)) s"
    exit "$failed"
fi
timed compilation build release programs
begin=$SECONDS
build/release/bin/ulplab run "$mode" all >build/release/run.log || failed=$?
if [ "$failed" -gt 1 ]; then exit "$failed"; fi
times+=", experiments $((SECONDS - begin)) s"
begin=$SECONDS
site=$(build/release/bin/ulplab site)
report=$(build/release/bin/ulplab report)
times+=", pages $((SECONDS - begin)) s"
build/release/bin/ulplab claims || failed=$?
say_what_is_left_out release
echo "Report: $PWD/$report"
echo "Site: $PWD/${site%%:*}"
echo "Time: $times"
exit "$failed"
