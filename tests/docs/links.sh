#!/usr/bin/env bash
# Whether the relative links of all documents lead somewhere, and their anchors to a heading. Usage: links.sh SOURCE_FOLDER
set -euo pipefail

# The anchors of a document's headings, as web pages of repositories make them.
anchors() {
    awk '/^```/ { inside = !inside } !inside && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
        sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

# Prints the links of the documents on stdin that lead nowhere.
dead_links() {
    local document link target anchor place
    while IFS= read -r document; do
        while IFS= read -r link; do
            case $link in http://* | https://* | mailto:*) continue ;; esac
            target=${link%%#*}
            anchor=
            [ "$target" = "$link" ] || anchor=${link#*#}
            place=$document
            [ -z "$target" ] || place=$(dirname "$document")/$target
            if [ ! -e "$place" ]; then
                echo "$document: $link leads nowhere"
            elif [ -n "$anchor" ] && [ "${place%.md}" != "$place" ] && ! anchors "$place" | grep -qxF "$anchor"; then
                echo "$document: $link: there is no such heading"
            fi
        done < <(awk '/^```/ { inside = !inside } !inside && !/^    /' "$document" | grep -oE '\]\([^) ]+\)' | sed -e 's/^](//' -e 's/)$//')
    done
}

cd "$1"
# Folders that other tests write in meanwhile are not entered: find fails where a folder vanishes before its eyes.
documents() { find . \( -path './build' -o -path './out' -o -path './.?*' \) -prune -o -name '*.md' -print; }
dead=$(documents | dead_links)
status=0
if [ -n "$dead" ]; then
    echo "$dead" >&2
    status=1
fi
# The control: a dead link and a missing heading are found, good ones are not.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '# A heading\n[good](#a-heading) [dead](nothing.md) [no heading](#another) [out](https://example.org/x)\n' >"$work/a.md"
[ "$(echo "$work/a.md" | dead_links | wc -l)" -eq 2 ] || { echo "links.sh does not find dead links" >&2; status=1; }
exit $status
