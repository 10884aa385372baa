#!/usr/bin/env bash
# Builds ulplab and runs its experiments; leaves out/report.html. Usage: ./run.sh [--quick|--full] [--no-install] [NAME...]
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
            echo "Installs missing Debian packages, builds into build/release, runs the experiments named (all of them"
            echo "by default) and writes out/report.html. --no-install stops where a package is missing."
            exit 0 ;;
        -*) echo "run.sh: unknown option $argument; see ./run.sh --help" >&2; exit 2 ;;
        *) names+=("$argument") ;;
    esac
done
[ ${#names[@]} -gt 0 ] || names=(all)

install_packages "$install"
configure release
build release programs
failed=0
build/release/bin/ulplab run "$mode" "${names[@]}" >build/release/run.log || failed=$?
if [ "$failed" -gt 1 ]; then exit "$failed"; fi
report=$(build/release/bin/ulplab report)
build/release/bin/ulplab claims || failed=$?
echo "Report: $PWD/$report"
exit "$failed"
