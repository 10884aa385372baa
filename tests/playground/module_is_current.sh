#!/usr/bin/env bash
# Says whether the playground's module was compiled from the sources as they are. It is not built here: that needs
# emscripten. Usage: module_is_current.sh SOURCE_FOLDER
set -euo pipefail
cd "$1/docs/playground"
wanted=$(./build.sh --digest)
if head -1 softfloat.js | grep -q "Sources: $wanted"; then
    echo "softfloat.js was compiled from these sources"
elif command -v em++ >/dev/null; then
    echo "skipped: no module of these sources; run docs/playground/build.sh and commit docs/playground/softfloat.js"
else
    echo "skipped: no module of these sources, and no em++ to compile it; apt-get install emscripten, then docs/playground/build.sh"
fi
