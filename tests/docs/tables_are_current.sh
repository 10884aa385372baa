#!/usr/bin/env bash
# Whether the generated tables are those of this program, and the versions agree. Usage: tables_are_current.sh
# SOURCE_FOLDER ULPLAB_PROGRAM VERSION
set -euo pipefail
source_folder=$1 ulplab=$2 version=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$source_folder/docs/update.sh" "$ulplab" "$work"
stale=0
for file in docs/experiments.md docs/hardware.md docs/architecture.md docs/reference/{formats,quantizations,claims,trainings}.md docs/reference/digests.txt; do
    cmp -s "$work/$file" "$source_folder/$file" && continue
    diff "$source_folder/$file" "$work/$file" | head -5 >&2
    echo "$file is stale; run docs/update.sh" >&2
    stale=1
done
[ "$(grep '^## ' "$source_folder/CHANGELOG.md" | sed '1{/ (unreleased)$/d}' | head -n 1)" = "## $version" ] ||
    grep -qxF "## $version (unreleased)" "$source_folder/CHANGELOG.md" || {
    echo "CHANGELOG.md does not begin with version $version, which CMakeLists.txt names" >&2
    stale=1
}
# docs/bounds.md counts the rows that have a bound by search: all of floating point but those of fp64 and with block scales.
counted() {
    awk -F '[`|]' '/^\| `/ && $3 !~ /\.fp64$|\.s32|mx|nvf4/ { split($3, key, ":"); ++rows[key[1]]; ++all }
        END { for (gpu in rows) print gpu, rows[gpu]; print "all", all }' "$1" | sort
}
"$ulplab" dev page models >"$work/models.md"
said=$(awk -F '[ |]+' '/^\| [a-z0-9_]+( \(as [a-z0-9_]+\))? \| [0-9]+ \| [0-9.]+ \|/ { print $2, ($3 ~ /^\(/ ? $5 : $3) }
    match($0, /^Of [0-9]+ rows/) { print "all", $2 }' "$source_folder/docs/bounds.md" | sort)
[ "$said" = "$(counted "$work/models.md")" ] || {
    diff <(echo "$said") <(counted "$work/models.md") >&2 || true
    echo "docs/bounds.md counts other rows per GPU than the table has" >&2
    stale=1
}
# The control: a changed row is found.
sed 's/| `fp16` | IEEE 754 binary16 | 16 |/| `fp16` | IEEE 754 binary16 | 17 |/' "$work/docs/reference/formats.md" >"$work/changed"
! cmp -s "$work/changed" "$source_folder/docs/reference/formats.md" || { echo "a changed table passes" >&2; stale=1; }
# And another bit of a training run, which is named.
sed 's/^\(fp32  *soft:ieee  *\)./\1x/' "$source_folder/docs/reference/digests.txt" >"$work/changed"
told=$({ diff "$work/changed" "$work/docs/reference/digests.txt" || true; } | grep -c '^[<>] fp32 ')
[ "$told" = 2 ] || { echo "a changed digest passes" >&2; stale=1; }
exit $stale
