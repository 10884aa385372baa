#!/usr/bin/env bash
# Runs the notebooks of docs/notebooks. Usage: notebooks.sh PYTHON PACKAGE_FOLDER SOURCE_FOLDER
set -euo pipefail
"$1" -c 'import torch' 2>/dev/null || { echo "skipped: no torch for $1"; exit 0; }
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
exec "$1" "$3/docs/notebooks/make.py" --check
