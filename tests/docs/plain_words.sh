#!/usr/bin/env bash
# Whether the prose keeps to the list of words in CONTRIBUTING.md: none of the patterns in its first column is left.
# Usage: plain_words.sh SOURCE_FOLDER
#
# Read are documents without their code, and of other files comments and texts in quotation marks. Generated pages are not
# read: their texts are those of the program.
set -euo pipefail
cd "$1"
places=(README.md CHANGELOG.md CONTRIBUTING.md softfloat engine gpu experiments tests docs plots cmake run.sh check.sh)
left_out='^(docs/(reference/|figures/|playground/softfloat\.js)|tests/experiments/course/solutions/.*\.diff|tests/docs/plain_words\.sh|experiments/cli/old_names\.cpp)'

# The patterns of the table "| not | but |" of DOCUMENT, one per line.
patterns() { sed -nE '/^\| not \| but \|/,/^$/s/^\| `([^`]+)` \|.*/\1/p' "$1" | sed 's/\\|/|/g'; }

# Prints FILE:LINE:TEXT for each paragraph of prose, table row or run of comments in the files given.
prose() {
    awk '
        function flush() { if (text != "") print place ":" text; text = "" }
        function keep(line) { if (text == "") place = FILENAME ":" FNR; text = text " " line }
        FNR == 1 { flush(); fence = 0; document = FILENAME ~ /\.(md|html|txt)$/ }
        document && /^ *```/ { flush(); fence = !fence; next }
        document && (fence || /^    [^ ]/) { flush(); next }
        document {
            if ($0 ~ /^$/ || $0 ~ /^\|/) flush()
            line = $0
            gsub(/`[^`]*`/, "", line)
            gsub(/\]\([^)]*\)/, "]", line)
            if (line != "") keep(line)
            next
        }
        {
            line = $0
            gsub(/cite\(.*|page trainings|"trainings"/, "", line)  # words of sources, and names
            said = ""
            while (match(line, /"[^"]*( [^"]*|[.,;:])"|\x27[^\x27"]* [^\x27"]*\x27/)) {
                said = said " " substr(line, RSTART + 1, RLENGTH - 2)
                line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
            }
            if (said != "") { flush(); keep(said); flush() }
            if (match(line, /(^|[ \t])(\/\/+|#|\/\*+|\*)([^a-z!]|$).*/)) {
                if (line !~ /^[ \t]*(\/\/|#|\/\*|\*)/) flush()
                comment = substr(line, RSTART, RLENGTH)
                gsub(/^[ \t]*[\/#*<]+/, "", comment)
                keep(comment)
            } else flush()
        }
        END { flush() }' "$@"
}

# hits PATTERNS FILE...: "FILE:LINE: what is found".
hits() {
    local list=$1
    shift
    prose "$@" | grep -iE "^[^:]+:[0-9]+:.*\b($list)" |
        awk -v list="$list" '{ place = $0; sub(/:[0-9]+:.*/, "", place); line = $0; sub(/^[^:]*:/, "", line); sub(/:.*/, "", line)
            print place ":" line ":" substr($0, index($0, ": ") + 1) }' | while IFS= read -r hit; do
            echo "$(cut -d: -f1,2 <<<"$hit"): $(cut -d: -f3- <<<"$hit" | grep -oiE ".{0,30}\b($list).{0,20}" | head -n 1)"
        done || true
}

list=$(patterns CONTRIBUTING.md | paste -sd '|')
[ -n "$list" ] || { echo "CONTRIBUTING.md has no table of words" >&2; exit 1; }
mapfile -t files < <(find "${places[@]}" -type f \( -name '*.md' -o -name '*.html' -o -name '*.txt' -o -name '*.[ch]pp' -o -name '*.h' \
    -o -name '*.cu' -o -name '*.cuh' -o -name '*.py' -o -name '*.sh' -o -name '*.js' -o -name '*.gp' \) | grep -vE "$left_out" | LC_ALL=C sort)
found=$(hits "$list" "${files[@]}")
status=0
[ -z "$found" ] || { echo "$found"; echo "CONTRIBUTING.md has the plain words for these"; status=1; } >&2

# The controls: a word is found in prose, in a comment, in a text and across a line break, and not in code.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'one in the\nplace of two, `in the place of`\n\n```text\nin the place of\n```\n' >"$work/a.md"
printf '// one in the place of two\nconst char* a = "in the place of";\nint in_the_place_of = 1;\n' >"$work/b.cpp"
[ "$(hits 'in the place of' "$work/a.md" "$work/b.cpp" | wc -l)" -eq 3 ] ||
    { echo "plain_words.sh does not find what it should:" >&2; hits 'in the place of' "$work/a.md" "$work/b.cpp" >&2; status=1; }
exit $status
