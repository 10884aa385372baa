#!/usr/bin/env bash
# Runs a notebook of docs/notebooks. Usage: notebooks.sh PYTHON PACKAGE_FOLDER SOURCE
set -euo pipefail
if grep -qE '^ *(import|from) torch' "$3" && ! "$1" -c 'import torch' 2>/dev/null; then
    echo "skipped: no PyTorch (--torch)"
    exit 0
fi
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
exec "$1" "$(dirname "$3")/make.py" --check "$(basename "$3" .py)"
