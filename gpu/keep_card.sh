#!/usr/bin/env bash
# Keeps what gpu/verify_all.sh wrote on a GPU as evidence in tests/recordings/<card>:
#
#     gpu/keep_card.sh OUT [ROOT]
#
# OUT is the folder that verify_all.sh wrote, ROOT the project's (by default this one). A card whose recordings and traces
# are those of a card that is there, but for the name, is kept with their digests in same_as_<card>.sha256 alone. Exit code
# 2 on wrong usage, 3 where OUT is no such folder, or of no hardware.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/card_files.sh"
case ${1:-} in
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    '') echo "keep_card.sh: name the folder that verify_all.sh wrote; see --help" >&2; exit 2 ;;
esac
out=$1
recordings=$(cd "${2:-$here/..}" && pwd)/tests/recordings
fail() { echo "keep_card.sh: $1" >&2; exit 3; }
[ -f "$out/info.txt" ] || fail "$out has no info.txt; give the folder that gpu/verify_all.sh wrote"
grep -q '^# source hardware' "$out/info.txt" || fail "$out is of a dry run: what no GPU answered is no evidence"
own=("$out"/recordings/*/)
[ "${#own[@]}" -eq 1 ] && [ -d "${own[0]}" ] || fail "$out/recordings does not hold the folder of one card"
card=$(basename "${own[0]}")
name=$(sed -n 's/^# gpu //p' "$out/info.txt")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/own" "$work/card"
for file in "$out"/info.txt "$out"/*.csv "$out"/discovery.txt; do
    [ -e "$file" ] && cp "$file" "$work/card"
done
cp "${own[0]}"*.recording "$work/own"
cp "$out"/traces/sm_*.trace "$work/own" 2> /dev/null || true  # none where no model stands beside the card
(cd "$work/own" && sha256sum -- *) > "$work/digests"

same=
for other in "$recordings"/*/; do
    other=${other%/}
    [ "$(basename "$other")" != "$card" ] && compgen -G "$other/*.recording" > /dev/null || continue
    rm -rf "$work/renamed" && mkdir "$work/renamed"
    renamed_files "$other" "$name" "$work/renamed"
    (cd "$work/renamed" && sha256sum -- *) | cmp -s - "$work/digests" && same=$(basename "$other")
done
if [ -n "$same" ]; then
    cp "$work/digests" "$work/card/same_as_$same.sha256"
    echo "$card: $(wc -l < "$work/digests") recordings and traces are those of $same: kept as digests"
else
    cp "$work"/own/* "$work/card"
    echo "$card: $(wc -l < "$work/digests") recordings and traces kept"
fi
rm -rf "${recordings:?}/$card"
mv "$work/card" "$recordings/$card"
