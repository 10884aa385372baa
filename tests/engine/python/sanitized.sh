#!/usr/bin/env bash
# The package's tests with the extension module's own code under the address and undefined-behaviour sanitizers, which the
# interpreter gets preloaded. Usage: sanitized.sh BUILD_FOLDER [FILE...], from anywhere; FILE: test_numbers.py, ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
of_cache() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
cmake --build "$build" --target ulplab_python_sanitized --target ulplab
compiler=$(of_cache CMAKE_CXX_COMPILER)
[ $# -gt 0 ] || set -- $(cd "$here" && ls test_*.py)
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1  # the interpreter keeps much until it ends
for file in "$@"; do
    echo "$file"
    LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libstdc++.so)" \
        "$here/run_pytest.sh" "$(of_cache Python_EXECUTABLE)" "$build/python-sanitized" "$build/bin/ulplab" "$here/$file"
done
