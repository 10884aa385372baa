#!/usr/bin/env bash
# Whether docs/reference/coverage.md is complete: as many rows as it says, each once, each with a claim of the registers or a
# reason; with ULPLAB_SHARED as many as the list of the documents' items has without a claim. Usage: coverage.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
page=docs/reference/coverage.md
fail() { echo "coverage.sh: $1" >&2; exit 1; }

# wrong PAGE CLAIMS: rows with neither a claim that CLAIMS has nor a reason, and items that stand twice.
wrong() {
    awk -F ' \\| ' -v claims="$2" '
        BEGIN { while ((getline line <claims) > 0) if (match(line, /`[a-z0-9_]+\.[^`]+`/)) known[substr(line, RSTART, RLENGTH)] }
        /^\| [FACVN][0-9]/ {
            sub(/ \|$/, "", $3)
            if (seen[$1]++) print $1 ": twice"
            if ($3 ~ /^left out: / && length($3) >= 17) next
            if (!($3 in known)) print $1 ": neither a claim nor a reason: " $3
        }' "$1"
}
found=$(wrong $page docs/reference/claims.md)
[ -z "$found" ] || fail "$found"
rows=$(grep -c '^| [FACVN][0-9]' $page)
said=$(sed -n 's/.*these \([0-9]*\) had none.*/\1/p' $page)
[ "$rows" = "$said" ] || fail "$page says $said items and has $rows"
list=${ULPLAB_SHARED:-none}/specs/coverage.md
if [ -f "$list" ]; then
    items=$(grep -c ' | X | ' "$list")
    [ "$rows" = "$items" ] || fail "$page has $rows items, the list of the documents' items without a claim $items"
fi

# The control: a row without either is found.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '| F1 | a | `no.claim` |\n| F2 | b | left out: a |\n| F3 | c | left out: a picture of it |\n' >"$work/page.md"
[ "$(wrong "$work/page.md" docs/reference/claims.md | wc -l)" -eq 2 ] || fail "it does not find what it should"
