#!/usr/bin/env bash
# Whether the project stays within the budgets of docs/architecture.md. Usage: budgets.sh SOURCE_FOLDER [ULPLAB_PROGRAM]
#
# Counted below softfloat, engine, gpu, experiments, plots, cmake, and docs without lessons, reference and figures:
# production lines (.cpp .hpp .cu .cuh .h .py .sh .js .gp .cmake .txt .in .inc); production files of any kind (without cmake
# and docs); rooms, which are folders with .cpp .hpp .cu .cuh .py. Where the folder is a checkout only what git tracks counts.
set -euo pipefail
source_folder=$1
program=${2:-}
cd "$source_folder"

# The files below the folders named, one per line.
files_of() {
    if git rev-parse --show-toplevel >/dev/null 2>&1; then git ls-files -- "$@"; else find "$@" -type f -not -path '*/__pycache__/*'; fi |
        grep -vE '^docs/(lessons|reference|figures)/'
}
counted='\.(cpp|hpp|cu|cuh|h|py|sh|js|gp|cmake|txt|in|inc)$'
code='\.(cpp|hpp|cu|cuh|py)$'
floors="softfloat engine gpu experiments"
lines_of() { grep -E "$counted" | tr '\n' '\0' | xargs -0 cat | wc -l; }

measured() {
    case $1 in
        "production lines") files_of $floors plots cmake docs | lines_of ;;
        "lines of tests") files_of tests | lines_of ;;
        "production files") files_of $floors plots | wc -l ;;
        "rooms") files_of $floors | grep -E "$code" | xargs -n1 dirname | sort -u | wc -l ;;
        "commands on the first page of --help")
            "$program" --help | awk '/^Subcommands:/ { on = 1; next } on && /^  [a-z]/ { ++n } END { print n + 0 }' ;;
        "names of options") "$program" dev page commands | grep -oE '^\| `[^|]*' | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u | wc -l ;;
        *) echo "budgets.sh: cannot count \"$1\"" >&2; return 2 ;;
    esac
}

# Prints each budget of the DOCUMENT that is exceeded.
exceeded() {
    local document=$1
    sed -n '/^## Budgets/,/^## [^B]/s/^| \([a-z][^|]*[a-z]\) | \([0-9]*\) |.*/\1|\2/p' "$document" | while IFS='|' read -r what most; do
        case $what in *--help | "names of options") [ -n "$program" ] || continue ;; esac
        now=$(measured "$what")
        [ "$now" -le "$most" ] || echo "$what: $now, and the budget is $most"
    done
}
wrong=$(exceeded docs/architecture.md)
[ -z "$wrong" ] || { echo "$wrong"; echo "Make it smaller, or raise the budget in docs/architecture.md with a line in CHANGELOG.md that says for what."; exit 1; } >&2

# The control: a budget that is too small is found.
small=$(mktemp)
trap 'rm -f "$small"' EXIT
printf '## Budgets\n\n| what | at most |\n|---|---|\n| rooms | 1 |\n' >"$small"
[ -n "$(exceeded "$small")" ] || { echo "budgets.sh does not find a budget that is exceeded" >&2; exit 1; }
