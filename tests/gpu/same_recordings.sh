#!/usr/bin/env bash
# A GPU whose recordings and traces are those of another one, but for its name, is kept as their digests:
# tests/recordings/<folder>/same_as_<other>.sha256. Here the other's files, under this one's name, are digested anew.
# Usage: same_recordings.sh ROOT
set -euo pipefail
cd "$1/tests/recordings"
for digests in */same_as_*.sha256; do
    name=$(sed -n 's/^# gpu //p' "$(dirname "$digests")/info.txt")
    other=$(basename "$digests" .sha256)
    other=${other#same_as_}
    other_name=$(sed -n 's/^# gpu //p' "$other/info.txt")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    for file in "$other"/*.recording "$other"/*.trace; do
        sed "1,4s/^\(gpu\|device\) $other_name\$/\1 $name/; 1,4s/^device $other_name,/device $name,/" "$file" \
            > "$work/$(basename "$file")"
    done
    [ "$(wc -l < "$digests")" -eq "$(ls "$work" | wc -l)" ] || { echo "$digests: not one digest a file" >&2; exit 1; }
    folder=$PWD
    (cd "$work" && sha256sum --quiet -c "$folder/$digests")
    echo "$digests: $(wc -l < "$digests") files"
    # The control: one changed bit is found.
    one=$(ls "$work" | head -n 1)
    sed -i '$s/.$/x/' "$work/$one"
    ! (cd "$work" && sha256sum --status -c "$folder/$digests") || { echo "a changed file passes" >&2; exit 1; }
done
