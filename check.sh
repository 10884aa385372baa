#!/usr/bin/env bash
# Builds ulplab and runs all its tests but the exhaustive ones. Usage: ./check.sh [--no-install]
set -euo pipefail
cd "$(dirname "$0")"
. cmake/setup.sh

case ${1-} in
    "") install=yes ;;
    --no-install) install=no ;;
    *) echo "Usage: ./check.sh [--no-install]" >&2; exit 2 ;;
esac

install_packages "$install"
configure release
build release
ctest --preset release -LE exhaustive -j "$(nproc)"
