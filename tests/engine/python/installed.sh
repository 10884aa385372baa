#!/usr/bin/env bash
# The package installed by pip and as a Debian package: imported from there, with the same bits.
# Usage: installed.sh PYTHON SOURCE_FOLDER BUILD_FOLDER VERSION
set -euo pipefail
python=$1 source=$2 build=$3 version=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "installed.sh: $1" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$1 $2 failed"; }; }
for module in pip setuptools wheel venv; do
    "$python" -c "import $module" 2>/dev/null || { echo "skipped: no $module for $python"; exit 0; }
done

cat >"$work/use.py" <<'EOF'
import sys, numpy, ulplab
assert ulplab.__file__.startswith(sys.argv[1]), ulplab.__file__
d = ulplab.matmul(numpy.full((1, 2), 0.5), numpy.ones((2, 1)), unit="sm_90:wgmma.fp16.fp32")
assert d.tolist() == [[1.0]] and ulplab.__version__ == sys.argv[2]
EOF
# imports PYTHON FOLDER: the package in the folder, found there, multiplies.
imports() { (cd "$work" && "$1" use.py "$2" "$version") || fail "the package in $2 does not work"; }

# Virtual environments that see the system's packages: the source tree, and a wheel in them.
before=$(cd "$source" && ls -A . engine/python)
export TMPDIR=$work ULPLAB_BUILD_FOLDER=$build
"$python" -m venv --system-site-packages --without-pip "$work/venv"
(cd "$source" && quietly "$work/venv/bin/python" -m pip install -q --no-index --no-build-isolation .)
imports "$work/venv/bin/python" "$work/venv"
"$python" -m venv --system-site-packages --without-pip "$work/other"
quietly "$source/engine/python/make_wheel.sh" "$work/wheels" "$python"
quietly "$work/other/bin/python" -m pip install -q --no-index --no-deps "$work"/wheels/ulplab-"$version"-*.whl
imports "$work/other/bin/python" "$work/other"
[ "$(cd "$source" && ls -A . engine/python)" = "$before" ] || fail "pip left files in the source tree"
! ls -d "$work"/ulplab-build-* 2>/dev/null || fail "pip left its build folder"

# The Debian package, where the interpreter looks by itself: in a root of its own where there is bubblewrap, with neither
# the source tree nor a variable that leads to it.
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    quietly cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/made" -D CPACK_COMPONENTS_ALL=python
    package=$(echo "$work"/made/python3-ulplab_*.deb)
    dpkg-deb -f "$package" Depends | grep -q 'python3-numpy' || fail "Depends: $(dpkg-deb -f "$package" Depends)"
    dpkg-deb -x "$package" "$work/root"
    packages=/usr/lib/python3/dist-packages
    PYTHONPATH=$work/root$packages imports "$python" "$work/root$packages"
    if [ -d $packages ] && bwrap --ro-bind / / true 2>/dev/null; then
        entries=()
        for entry in $packages/*; do entries+=(--ro-bind "$entry" "$entry"); done
        bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs $packages "${entries[@]}" \
            --ro-bind "$work/root$packages/ulplab" $packages/ulplab --tmpfs /tmp --tmpfs "$source" \
            --ro-bind "$work/use.py" /tmp/use.py --chdir / env -i /usr/bin/python3 /tmp/use.py $packages "$version" || fail "the installed package does not work"
    fi
fi
