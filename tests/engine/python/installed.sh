#!/usr/bin/env bash
# The package installed by pip and as a Debian package: imported from there, with the same bits.
# Usage: installed.sh PYTHON SOURCE_FOLDER BUILD_FOLDER VERSION
set -euo pipefail
python=$1 source=$2 build=$3 version=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "installed.sh: $1" >&2; exit 1; }
for module in pip setuptools wheel; do
    "$python" -c "import $module" 2>/dev/null || { echo "skipped: no $module for $python"; exit 0; }
done

# imports FOLDER: the package in the folder, found there, multiplies.
imports() {
    (cd "$work" && PYTHONPATH=$1 "$python" -c '
import sys, numpy, ulplab
assert ulplab.__file__.startswith(sys.argv[1]), ulplab.__file__
d = ulplab.matmul(numpy.full((1, 2), 0.5), numpy.ones((2, 1)), unit="sm_90:wgmma.fp16.fp32")
assert d.tolist() == [[1.0]] and ulplab.__version__ == sys.argv[2]' "$1" "$version") || fail "the package in $1 does not work"
}

TMPDIR=$work ULPLAB_BUILD_FOLDER=$build "$python" -m pip install -q --no-index --no-build-isolation --no-deps \
    --target "$work/site" "$source/engine/python" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "pip failed"; }
imports "$work/site"
for left in build dist ulplab.egg-info; do
    [ ! -e "$source/engine/python/$left" ] || fail "pip left $left in the source tree"
done

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/made" -D CPACK_COMPONENTS_ALL=python >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "cpack failed"; }
    package=$(echo "$work"/made/python3-ulplab_*.deb)
    dpkg-deb -f "$package" Depends | grep -q 'python3-numpy' || fail "Depends: $(dpkg-deb -f "$package" Depends)"
    dpkg-deb -x "$package" "$work/root"
    imports "$work/root/usr/lib/python3/dist-packages"
fi
