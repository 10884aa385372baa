#!/usr/bin/env bash
# The package installed by pip and as a Debian package: imported from there, with the same bits.
# Usage: installed.sh PYTHON SOURCE_FOLDER BUILD_FOLDER VERSION
set -euo pipefail
python=$1 source=$2 build=$3 version=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "installed.sh: $1" >&2; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$1 $2 failed"; }; }
for module in pip venv scikit_build_core; do
    "$python" -c "import $module" 2>/dev/null || { echo "skipped: no $module for $python"; exit 0; }
done

cat >"$work/use.py" <<'EOF'
import hashlib, importlib, sys
for name in sys.argv[3:]:
    importlib.import_module(name)
import numpy, ulplab
assert ulplab.__file__.startswith(sys.argv[1]), ulplab.__file__
assert ulplab.__version__ == sys.argv[2]
a = numpy.random.default_rng(1).integers(-99, 99, (192, 192)).astype("f2")
torch = sys.modules.get("torch")
for _ in range(2):
    d = ulplab.matmul(a, a, unit="sm_90:wgmma.fp16.fp32")
    if torch:  # whose threads are those of another OpenMP library
        assert (torch.from_numpy(d).softmax(1).sum(1) - 1).abs().max() < 1e-5
print(hashlib.sha256(d.tobytes()).hexdigest())
EOF
# imports PYTHON FOLDER [MODULE...]: the package in the folder, found there, multiplies after the modules are imported in that
# order, with the bits of the first call.
imports() {
    local digest
    digest=$(cd "$work" && "$1" use.py "$2" "$version" "${@:3}") || fail "the package in $2 does not work after: ${*:3}"
    [ "${first:=$digest}" = "$digest" ] || fail "the package in $2 gives other bits after: ${*:3}"
}

# A wheel of the finished build, in a virtual environment that sees what the interpreter sees.
before=$(cd "$source" && ls -A . engine/python)
export TMPDIR=$work
quietly "$python" -m pip wheel --no-index --no-build-isolation --no-deps -w "$work/wheels" --config-settings build-dir="$work/pip" \
    --config-settings cmake.define.ULPLAB_BUILD="$build" "$source"
[ "$(cd "$source" && ls -A . engine/python)" = "$before" ] || fail "pip left files in the source tree"
wheel=$(echo "$work"/wheels/ulplab-"$version"-*.whl)
"$python" -m zipfile -l "$wheel" >"$work/list"
# libfmt.so.9 is of fmt.txt, libmd4c-html.so.0 of md4c.txt; the C library and the compiler's own are the system's.
linked=$(ldd "$build/bin/ulplab" "$build"/python/ulplab/_core.*.so | sed -nE 's/^\tlib([a-z0-9]+).*\.so.*/\1/p' | sort -u | grep -vxE 'c|m|gcc|stdc')
for file in $(sed 's|.*|ulplab/licences/&|' <<<"$linked") dist-info/licenses/LICENSE ulplab/py.typed; do
    grep -q "$file" "$work/list" || [ ! -d /usr/share/doc/libfmt-dev ] || fail "the wheel lacks $file"
done
"$python" -m venv --without-pip "$work/venv"
"$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' \
    >"$(echo "$work"/venv/lib/python*/site-packages)/numpy.pth"
quietly "$python" -m pip --python "$work/venv/bin/python" install -q --no-index --no-deps "$wheel"
orders=("ulplab")
! "$python" -c 'import torch' 2>/dev/null || orders+=("torch ulplab" "ulplab torch")
for order in "${orders[@]}"; do
    # shellcheck disable=SC2086  # names of modules
    imports "$work/venv/bin/python" "$work/venv" $order
done
[ -d "$work/venv/share/ulplab/plots" ] || fail "the wheel lacks what figures are drawn with"
(cd "$work" && env -i "$work/venv/bin/ulplab" --version | grep -qF "$version") || fail "the wheel's program does not work"

# The same extension reads Debian's NumPy 1, unless an older pybind11 made it, for that alone.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null && [ "$("$python" -V)" = "$(/usr/bin/python3 -V)" ]; then
    PYTHONPATH=$build/python imports /usr/bin/python3 "$build/python"
fi

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
            --ro-bind "$work/use.py" /tmp/use.py --chdir / env -i /usr/bin/python3 /tmp/use.py $packages "$version" >/dev/null || fail "the installed package does not work"
    fi
fi
