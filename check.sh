#!/usr/bin/env bash
# Builds ulplab and runs all its tests but the exhaustive ones. Python's run in build/release/venv, made of PyPI's packages
# where that can be reached, else with Debian's.
#
# --configurations  configures as where no CUDA is, and compiles sources there by themselves: those of the last thirty
#                   commits, and a fifth of the others, chosen by the date
# --compilers       builds with clang and runs the tests there, builds without optimisation, and compares digests
# --arm             builds for 64-bit ARM, runs the tests of the arithmetic with qemu, and compares digests of training runs
# --mutants         checks that the tests still kill twenty point mutants, chosen by the date (tests/mutants/mutants.py)
# --torch           installs PyTorch, transformers and the model of a notebook into build/release/venv, for the tests that need
#                   them: 0.8 GB, or 4 GB where only PyPI can be reached, whose build for x86 brings CUDA
# --no-install      ends where one of Debian's packages is missing, and installs nothing from PyPI
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh
. tests/engine/python/environment.sh

usage="Usage: ./check.sh [--no-install] [--torch] [--configurations] [--compilers] [--arm] [--mutants]"
install=yes
torch=no
configurations=no
compilers=no
arm=no
mutants=no
for argument in "$@"; do
    case $argument in
        --no-install) install=no ;;
        --torch) torch=yes ;;
        --configurations) configurations=yes ;;
        --compilers) compilers=yes ;;
        --arm) arm=yes ;;
        --mutants) mutants=yes ;;
        -h | --help) echo "$usage"; sed -n '/^#/!q; s/^# \{0,1\}//p' check.sh | tail -n +2; exit 0 ;;
        *) echo "check.sh: unknown option $argument. $usage" >&2; exit 2 ;;
    esac
done

timed packages install_packages "$install" cmake/python_packages.txt
timed "Python packages" python_environment "$install" no
timed configuration configure release
# PyTorch is installed while the compilers run; what that could not do is tried again, and said.
[ -z "$without_environment" ] || torch=no
[ "$torch" = no ] || python_environment "$install" yes >build/release/torch.log 2>&1 &
timed compilation build release
wait
[ "$torch" = no ] || timed PyTorch python_environment "$install" yes
# Several tests run at once: threads that wait must leave the processors to others.
timed tests env OMP_WAIT_POLICY=passive ctest --preset release -LE exhaustive -j "$(nproc)"

if [ "$configurations" = yes ]; then
    timed "configuration without CUDA" configure debug
    timed "single sources" check_sources debug
fi

if [ "$compilers" = yes ]; then
    install_missing "$install" cmake/clang_packages.txt
    timed "configuration of clang" configure clang
    timed "compilation by clang" build clang
    timed "clang's tests" env OMP_WAIT_POLICY=passive ctest --preset clang -LE exhaustive -j "$(nproc)"
    timed "configuration of debug" configure debug
    timed "debug compilation" build debug ulplab
    for preset in clang debug; do
        timed "digests of $preset" tests/experiments/compare_digests.sh "build/release/bin/ulplab" "build/$preset/bin/ulplab"
    done
fi

if [ "$arm" = yes ]; then
    install_missing "$install" cmake/arm_packages.txt
    fetch_arm64_libraries
    configure arm64
    programs=(simd_choice numbers arrays functions matrix_units engine_matmul)
    build arm64 "${programs[@]/#/test_}" ulplab
    # Without the judge of all codes, whose long double has 113 bits there, in software, which is slow under qemu.
    OMP_WAIT_POLICY=passive ctest --preset arm64 -L fast -R "^($(IFS='|'; echo "${programs[*]}")):" \
        -E "^functions:.* for every code of every named format up to 16 bits" -j "$(nproc)"
    if ! diff <(build/release/bin/ulplab dev digests) <(qemu-aarch64 -L /usr/aarch64-linux-gnu build/arm64/bin/ulplab dev digests); then
        echo "The training runs of build/release and build/arm64 differ." >&2
        exit 4
    fi
    echo "The training runs of build/release and build/arm64 are the same, bit for bit."
fi
[ "$mutants" = no ] || timed "twenty mutants" python3 tests/mutants/mutants.py --day
say_what_is_left_out release build/release/Testing/Temporary/LastTest.log
echo "Time: $times"
