#!/usr/bin/env bash
# Builds ulplab and runs all its tests but the exhaustive ones.
# With --compilers also builds with clang and without optimisation, and compares the results' digests.
# Usage: ./check.sh [--no-install] [--compilers]
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

install=yes
compilers=no
for argument in "$@"; do
    case $argument in
        --no-install) install=no ;;
        --compilers) compilers=yes ;;
        *) echo "Usage: ./check.sh [--no-install] [--compilers]" >&2; exit 2 ;;
    esac
done

install_packages "$install" cmake/python_packages.txt
configure release
build release
# Several tests run at once: threads that wait must leave the processors to others.
OMP_WAIT_POLICY=passive ctest --preset release -LE exhaustive -j "$(nproc)"
[ "$compilers" = yes ] || exit 0

command -v clang++ >/dev/null || { echo "check.sh: there is no clang++; apt-get install clang" >&2; exit 3; }
for preset in clang debug; do
    configure "$preset" -DULPLAB_TESTS=OFF
    build "$preset" ulplab
    tests/experiments/compare_digests.sh build/release "build/$preset"
done
