#!/usr/bin/env bash
# The scripts with stand-ins for the programs that they call. Usage: test_scripts.sh SOURCE_FOLDER
set -euo pipefail
source_folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test_scripts.sh: $1" >&2; exit 1; }

# stand_in NAME LINE...: an executable of that name in $work/bin.
stand_in() {
    mkdir -p "$work/bin"
    printf '%s\n' '#!/bin/sh' "${@:2}" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# A missing package stops run.sh --no-install with the line to type, before anything is built.
cp -r "$source_folder/cmake" "$source_folder/run.sh" "$source_folder/check.sh" "$work/"
stand_in dpkg-query 'echo "installed cmake"; echo "installed g++"; echo "not-installed gnuplot-nox"; exit 1'
for script in run.sh check.sh; do
    status=0
    PATH="$work/bin:$PATH" "$work/$script" --no-install >"$work/printed" 2>&1 || status=$?
    [ "$status" -eq 3 ] || fail "$script --no-install ended with $status where a package is missing"
    grep -q "apt-get install -y .*gnuplot-nox" "$work/printed" || fail "$script --no-install prints no apt-get line"
    ! grep -q "install -y .*g++" "$work/printed" || fail "$script --no-install names a package that is there"
    [ ! -d "$work/build" ] || fail "$script --no-install built something"
done

# Unknown options.
for script in run.sh check.sh; do
    status=0
    "$work/$script" --nonsense >/dev/null 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "$script --nonsense ended with $status"
done

# An experiment that does not exist is named before anything is installed or built.
mkdir -p "$work/experiments"
cp "$source_folder/experiments/CMakeLists.txt" "$work/experiments/"
status=0
"$work/run.sh" --no-install overflw >"$work/printed" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "run.sh overflw ended with $status"
grep -q 'no experiment "overflw"; choose from .*overflow' "$work/printed" || fail "run.sh overflw names no experiment"

# The comparison of digests finds a difference, and none where there is none.
# The stand-in builds write one manifest each, with the digest that stands in the file beside them.
for build in a b; do
    mkdir -p "$work/$build/bin"
    cat >"$work/$build/bin/ulplab" <<'STAND_IN'
#!/bin/sh
[ "$1" = digests ] && exec cat "$(dirname "$0")/recipes"
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
mkdir -p "$out/overflow"
printf '{\n  "digest": "%s"\n}\n' "$(cat "$(dirname "$0")/digest")" >"$out/overflow/manifest.json"
STAND_IN
    chmod +x "$work/$build/bin/ulplab"
    echo same >"$work/$build/bin/digest"
    echo "fp32 soft:ieee same" >"$work/$build/bin/recipes"
done
compare="$source_folder/tests/experiments/compare_digests.sh"
"$compare" "$work/a" "$work/b" >/dev/null || fail "equal digests were told apart"
echo other >"$work/b/bin/digest"
status=0
"$compare" "$work/a" "$work/b" >/dev/null 2>&1 || status=$?
[ "$status" -eq 4 ] || fail "different digests ended with $status"
echo same >"$work/b/bin/digest"
echo "fp32 soft:ieee other" >"$work/b/bin/recipes"
status=0
"$compare" "$work/a" "$work/b" >/dev/null 2>&1 || status=$?
[ "$status" -eq 4 ] || fail "different digests of a recipe ended with $status"
