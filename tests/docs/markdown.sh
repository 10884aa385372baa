#!/usr/bin/env bash
# Whether the documents are Markdown that every reader splits alike: a blank line before each heading, list and table, and
# after each heading; no heading within a line. Usage: markdown.sh SOURCE_FOLDER ULPLAB_PROGRAM
set -euo pipefail

# Prints "FILE:LINE: what is wrong" for the documents given.
broken() {
    awk '
        function say(what) { print FILENAME ":" FNR ": " what }
        FNR == 1 { fence = 0; before = ""; heading = 0; listed = 0 }
        /^ *```/ { fence = !fence; before = "```"; heading = 0; next }
        fence { next }
        {
            line = $0
            gsub(/`[^`]*`/, "", line)
            item = line ~ /^ *([-*]|[0-9]+\.) /
            if (heading && line != "") say("no blank line after the heading")
            heading = line ~ /^#+ /
            if (heading && before != "") say("no blank line before the heading")
            if (item && before != "" && !listed) say("no blank line before the list")
            if (line ~ /^\|/ && before !~ /^\||-->$/ && before != "") say("no blank line before the table")
            if (line ~ /[^ #]##+ /) say("a heading within a line")
            # A list ends with a line that is not indented, after a blank one.
            if (item) listed = 1
            else if (before == "" && line !~ /^ / && line != "") listed = 0
            before = $0
        }' "$@"
}

ulplab=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for page in commands models; do "$ulplab" dev page $page >"$work/$page.md"; done
cd "$1"
mapfile -t documents < <(find . \( -path './build' -o -path './out' -o -path './.?*' \) -prune -o -name '*.md' -print)
wrong=$(broken "${documents[@]}" "$work"/*.md)
status=0
[ -z "$wrong" ] || { echo "$wrong" >&2; status=1; }

# Each command has a heading of its own.
for command in ulplab "ulplab list" "ulplab run" "ulplab doctor"; do
    grep -qxF "## $command" "$work/commands.md" ||
        { echo "the page of commands has no heading \"## $command\"" >&2; status=1; }
done

# The controls: each fault is found, good text passes.
cd "$work"
printf '# One\n\nExit codes: 0 good;## Two\n\ntext\n## Three\n\ntext\n- item\n\ntext\n| a |\n|---|\n\n## Four\ntext\n' >bad.md
[ "$(broken bad.md | wc -l)" -eq 5 ] || { echo "markdown.sh does not find all faults:" >&2; broken bad.md >&2; status=1; }
printf '# One\n\n- item\n  more\n- item\n\n  text\n- item\n\n1. item\n\n```sh\n# no heading\n```\n\n| a |\n|---|\n' >good.md
[ -z "$(broken good.md)" ] || { echo "good text is refused:" >&2; broken good.md >&2; status=1; }
exit $status
