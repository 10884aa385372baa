#!/usr/bin/env bash
# Installs a build into an empty folder, moves that, and lets another project find and use it, with CMake and with
# pkg-config. Usage: consumer.sh SOURCE_FOLDER BUILD_FOLDER COMPILER VERSION HAS_CUDA
set -euo pipefail
source_folder=$1 build=$2 compiler=$3 version=$4 has_cuda=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "consumer.sh: $1" >&2; exit 1; }
# quietly COMMAND...: its output only where it fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "failed: $*"; }; }
# prints TEXT COMMAND...: the command prints that.
prints() { [ "$("${@:2}")" = "$1" ] || fail "${*:2} does not print $1"; }

quietly cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"

# configure FOLDER OPTION...: the consumer, configured in that folder. The compiler is known to work.
configure() {
    cmake -G Ninja -S "$source_folder/tests/install/consumer" -B "$work/$1" -DCMAKE_PREFIX_PATH="$work/moved" \
        -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_COMPILER_WORKS=ON "${@:2}"
}
# refused SENTENCE OPTION...: configuring fails and says so.
refused() {
    rm -rf "$work/refused/CMakeCache.txt"
    ! configure refused -DONLY_FIND=ON "${@:2}" >"$work/log" 2>&1 || fail "accepted: ${*:2}"
    tr -s '\n ' ' ' <"$work/log" | grep -qF "$1" || { cat "$work/log" >&2; fail "does not say: $1"; }
}

wanted="softfloat;engine"
[ "$has_cuda" != TRUE ] || wanted="$wanted;gpu"
quietly configure used -DWANTED_VERSION="$version" -DWANTED="$wanted" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/used"
digest=$("$work/used/transformer")
[[ $digest == "learned "* ]] || fail "the transformer says: $digest"
prints "$digest" "$work/used/transformer_shared"
prints right "$work/used/gradients"
for kind in "" _shared; do
    prints "2048 3" "$work/used/half$kind"
    answers=$("$work/used/analysis$kind" "$work/gradients.npz")
    [[ $answers == "explained 16 15360 13 "[1-9] ]] || fail "the analysis says: $answers"
done
[ "$has_cuda" != TRUE ] || [ "$("$work/used/instructions")" = some ] || fail "the gpu library has no instructions"
grep -q ffp-contract=off "$work/used/build.ninja" || fail "the consumer is compiled without -ffp-contract=off"

refused "no component trainer; choose from softfloat, engine, gpu" -DWANTED=trainer
refused "requested version \"99\"" -DWANTED=softfloat -DWANTED_VERSION=99
[ "$has_cuda" = TRUE ] || refused "built without its component gpu" -DWANTED=gpu

if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name ulplab-softfloat.pc)")
    export PKG_CONFIG_PATH
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
    export LD_LIBRARY_PATH
    # compile PACKAGE OPTION...: with the options of the package.
    compile() {
        local flags
        read -ra flags <<<"$(pkg-config --cflags --libs "$1")"
        # shellcheck disable=SC2086  # a list of words
        quietly "$compiler" ${CXXFLAGS:-} -std=c++20 "${@:2}" "${flags[@]}"
    }
    compile ulplab-engine -c "$source_folder/tests/install/consumer/transformer.cpp" -o "$work/transformer.o"
    for kind in "" -shared; do
        compile "ulplab-softfloat$kind" "$source_folder/tests/install/consumer/half.cpp" -o "$work/half$kind"
        prints "2048 3" "$work/half$kind"
        compile "ulplab-engine$kind" "$work/transformer.o" -lfmt -o "$work/transformer$kind"
        prints "$digest" "$work/transformer$kind"
        compile "ulplab-engine$kind" "$source_folder/tests/install/consumer/analysis.cpp" -o "$work/analysis$kind"
        prints "$answers" "$work/analysis$kind" "$work/gradients.npz"
    done
    compile ulplab-engine-fp64 "$source_folder/tests/install/consumer/gradients.cpp" -lfmt -o "$work/gradients"
    prints right "$work/gradients"
    ! (compile ulplab-engine -c "$source_folder/tests/install/consumer/gradients.cpp" -o "$work/gradients.o") 2>"$work/said" ||
        fail "gradients are checked in float"
    grep -qF "link ulplab::engine_fp64" "$work/said" || { cat "$work/said" >&2; fail "nothing says how to check gradients"; }
    if command -v readelf >/dev/null; then
        readelf -d "$work/half-shared" | grep -qF "[libulplab_softfloat.so.${version%.*}]" ||
            fail "the program does not ask for libulplab_softfloat.so.${version%.*}"
        ! readelf -d "$work/half" | grep -qF ulplab || fail "the static library was not taken"
    fi
    [ "$(pkg-config --modversion ulplab-engine)" = "$version" ] || fail "pkg-config knows another version"
fi

# Headers include each other as a user includes them, and each that they include is installed.
headers=$work/moved/include/ulplab
! grep -rnE '^#include "' "$headers" || fail "these includes need another folder on the path"
grep -rhoE '#include <ulplab/[^>]*' "$headers" | sed 's|.*<ulplab/||' | sort -u | while read -r header; do
    [ -f "$headers/$header" ] || fail "an installed header includes $header, which is not installed"
done

if command -v nm >/dev/null; then "$source_folder/tests/install/exports.sh" "$work/moved"; fi

# The manual pages are there, one a subcommand, and the installed program writes the same.
"$work/moved/bin/ulplab" dev manual --out "$work/pages"
diff -r "$work/pages" "$work/moved/share/man/man1" || fail "the manual pages are not those of the program"
