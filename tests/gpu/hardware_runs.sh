#!/usr/bin/env bash
# The table in softfloat/ says what the counts in tests/recordings say, and counts that show a mismatch, or that a model
# made, are refused. Usage: hardware_runs.sh ROOT
set -euo pipefail
cd "$1"
gpu/hardware_runs.sh tests/recordings/*/bulk*.csv | diff - softfloat/matrix_units/hardware_runs.inc ||
    { echo "hardware_runs.sh: make it anew: gpu/hardware_runs.sh tests/recordings/*/bulk*.csv > softfloat/matrix_units/hardware_runs.inc" >&2; exit 1; }
counts=$(ls tests/recordings/*/bulk.csv | head -n 1)
changed=$(mktemp)
trap 'rm -f "$changed"' EXIT
refuses() {  # CODE SED-SCRIPT
    sed "$2" "$counts" > "$changed"
    code=0
    gpu/hardware_runs.sh "$changed" > /dev/null 2>&1 || code=$?
    [ "$code" -eq "$1" ] || { echo "hardware_runs.sh: exit $code after $2, not $1" >&2; exit 1; }
}
refuses 4 '8s/^\(\([^,]*,\)\{6\}\)0,/\11,/'
refuses 3 's/^# source hardware/# source software/'
refuses 3 's/,model,class,/,class,/'
