#!/usr/bin/env bash
# A GPU whose recordings and traces are those of another one, but for its name, is kept as their digests:
# tests/recordings/<card>/same_as_<other>.sha256 (gpu/keep_card.sh). Here the other's files, under this one's name, are
# digested anew. Usage: same_recordings.sh ROOT
set -euo pipefail
. "$1/gpu/card_files.sh"
cd "$1/tests/recordings"
for digests in */same_as_*.sha256; do
    name=$(sed -n 's/^# gpu //p' "$(dirname "$digests")/info.txt")
    other=$(basename "$digests" .sha256)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    renamed_files "${other#same_as_}" "$name" "$work"
    [ "$(wc -l < "$digests")" -eq "$(ls "$work" | wc -l)" ] || { echo "$digests: not one digest a file" >&2; exit 1; }
    folder=$PWD
    (cd "$work" && sha256sum --quiet -c "$folder/$digests")
    echo "$digests: $(wc -l < "$digests") files"
    # The control: one changed bit is found.
    one=$(ls "$work" | head -n 1)
    sed -i '$s/.$/x/' "$work/$one"
    ! (cd "$work" && sha256sum --status -c "$folder/$digests") || { echo "a changed file passes" >&2; exit 1; }
done
