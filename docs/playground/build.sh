#!/usr/bin/env bash
# Compiles softfloat for the playground: writes softfloat.js with the WebAssembly inside, as text, so that the page works
# from a file:// address. Needs Debian's emscripten and libfmt-dev. The same sources give the same bytes.
# Usage: docs/playground/build.sh [OUTPUT]; with --digest only prints the digest of the sources.
set -euo pipefail
cd "$(dirname "$0")/../.."

sources=(docs/playground/source/{playground,block}.cpp engine/analysis/unit_explanation.cpp softfloat/{decimal,describe,names,text,value_table,support/nearest_names}.cpp
    softfloat/matrix_units/{block_steps,policies,aspects,hardware_runs,rows*,units}.cpp)
flags=(-DFMT_HEADER_ONLY -DFMT_USE_FLOAT=0 -DFMT_USE_DOUBLE=0 -DFMT_USE_LONG_DOUBLE=0 -std=c++20 -O2 -fexceptions -ffp-contract=off -I. -include docs/playground/source/missing_in_libcxx.hpp)
link=(-s FILESYSTEM=0 -s MODULARIZE=1 -s EXPORT_NAME=load_softfloat -s SINGLE_FILE=1 -s "ENVIRONMENT=web,node"
    -s "EXPORTED_FUNCTIONS=_ulplab_ask" -s "EXPORTED_RUNTIME_METHODS=ccall")

# What the module is made of, without comments and layout: they change nothing in it.
digest() {
    { printf '%s\n' "${flags[@]}" "${link[@]}"
      "${CXX:-c++}" -std=c++20 -I. -MM "${sources[@]}" | tr -d '\\' | tr ' ' '\n' | grep -E '[ch]pp$' | LC_ALL=C sort -u |
          xargs cat docs/playground/source/missing_in_libcxx.hpp | sed 's,//.*,,' | tr -d ' \t\n'; } | sha256sum | cut -c1-16
}
if [ "${1:-}" = --digest ]; then digest; exit; fi

output=${1:-docs/playground/softfloat.js}
command -v em++ >/dev/null || { echo "build.sh: there is no em++; apt-get install emscripten" >&2; exit 3; }
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs:/usr/lib/nodejs}  # where Debian keeps the packages em++ needs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/headers"
ln -s "${FMT_HEADERS:-/usr/include/fmt}" "$work/headers/fmt"
em++ "${flags[@]}" -isystem "$work/headers" "${sources[@]}" "${link[@]}" -o "$work/softfloat.js"
{ echo "// Made by docs/playground/build.sh from softfloat/; do not edit. Sources: $(digest)"
  cat "$work/softfloat.js"; } >"$output.part"
mv "$output.part" "$output"
echo "$output: $(wc -c <"$output") bytes"
