#!/usr/bin/env bash
# Makes a wheel of the package for an interpreter, without a network. Usage: make_wheel.sh FOLDER [PYTHON]
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
"${2:-python3}" -m pip wheel --no-index --no-build-isolation --no-deps -w "$folder" "$(dirname "$0")/../.."
