#!/usr/bin/env bash
# Runs one file of tests. Usage: run_pytest.sh PYTHON PACKAGE_FOLDER PROGRAM FILE [MODULE_NEEDED...]
set -euo pipefail
python=$1 package=$2 program=$3 file=$4
shift 4
for module in pytest "$@"; do
    missing="$module for $python"
    [ "$module" != torch ] || missing="PyTorch (--torch)"
    "$python" -c "import $module" 2>/dev/null || { echo "skipped: no $missing"; exit 0; }
done
export OMP_WAIT_POLICY=passive  # other tests run beside this one
export PYTHONPATH=$package ULPLAB_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -p no:cacheprovider "$file"
