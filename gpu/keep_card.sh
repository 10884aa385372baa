#!/usr/bin/env bash
# Keeps what a GPU answered as evidence in tests/recordings/<card>:
#
#     gpu/keep_card.sh OUT [ROOT]
#
# OUT is the folder that gpu/verify_all.sh or the recorder of one file (docs/volunteers.md) wrote, ROOT the project's (by
# default this one). A file of OUT replaces the card's file of that name; the card's other files stay. A card without
# recordings, whose recordings and traces are those of a card that is there, but for the name, is kept with their digests in
# same_as_<card>.sha256 alone. A card of which only such digests are there gets the files, where those that they stand for
# change. Exit code 2 on wrong usage, 3 where OUT is no such folder, is of no hardware, or has less than the card.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/card_files.sh"
case ${1:-} in
    -h|--help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    '') echo "keep_card.sh: name the folder that a GPU's answers are in; see --help" >&2; exit 2 ;;
esac
out=$1
recordings=$(cd "${2:-$here/..}" && pwd)/tests/recordings
mkdir -p "$recordings"
fail() { echo "keep_card.sh: $1" >&2; exit 3; }
name_in() { sed -n 's/^# gpu //p' "$1/info.txt"; }

# What is kept lies beside its place until it is whole.
work=$(mktemp -d "$recordings/.keep.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/card" "$work/own"

# of_verify_all, of_recorder and of_amd: the card's name, the files that are kept as they are (in $work/card), and those that
# may be another card's (in $work/own).
of_verify_all() {
    local own=("$out"/recordings/*/) file
    [ "${#own[@]}" -eq 1 ] && [ -d "${own[0]}" ] || fail "$out/recordings does not hold the folder of one card"
    card=$(basename "${own[0]}")
    for file in "$out"/{info,probes,discovery}.txt "$out"/*.csv; do
        [ -e "$file" ] || continue
        if [ "$(grep -vc '^#' "$file")" -gt 1 ]; then
            cp "$file" "$work/card"
        else
            echo "$card: $(basename "$file") holds no result and is left out"
        fi
    done
    cp "${own[0]}"*.recording "$work/own"
    cp "$out"/traces/sm_*.trace "$work/own" 2> /dev/null || true  # none where no model stands beside the card
}
of_recorder() {
    [ "$(sed -s -n 3p "$out"/*.recording | sort -u | wc -l)" -eq 1 ] || fail "$out holds recordings of more than one GPU"
    # As card_name in gpu/devices/executor.cpp.
    card=$(sed -n 's/^gpu //p;3q' "$(ls "$out"/*.recording | head -n 1)" | tr '[:upper:]' '[:lower:]' |
        sed 's/[^a-z0-9]\{1,\}/_/g; s/^_//; s/^nvidia_//')
    [ ! -e "$recordings/$card/info.txt" ] ||
        fail "$card is there with more than the recorder writes; compare: ulplab verify $out tests/recordings/$card"
    cp "$out"/*.recording "$work/card"
}
of_amd() {  # the published layout names the GPU by the folder alone
    local gpus=("$out"/gfx*/)
    [ "${#gpus[@]}" -eq 1 ] || fail "$out holds recordings of more than one GPU"
    card=$(basename "${gpus[0]}")
    cp -r "${gpus[0]}". "$work/card"
}

if [ -f "$out/info.txt" ]; then
    grep -q '^# source hardware' "$out/info.txt" || fail "$out is of a dry run: what no GPU answered is no evidence"
    of_verify_all
elif compgen -G "$out/*.recording" > /dev/null; then
    of_recorder
elif compgen -G "$out/gfx*/*/*/d_gfx*_*.txt" > /dev/null; then
    of_amd
else
    fail "$out holds no answers of a GPU; give the folder that gpu/verify_all.sh or ulplab_record wrote"
fi
! grep -rqE '^(# )?source software' "$work" || fail "$out holds what no GPU answered, which is no evidence"

kept=$recordings/$card
same=
files=$(ls "$work/own" | wc -l)
if [ "$files" -gt 0 ] && ! compgen -G "$kept/*.recording" > /dev/null; then
    (cd "$work/own" && sha256sum -- *) > "$work/digests"
    for other in "$recordings"/*/; do
        other=${other%/}
        [ "$other" != "$kept" ] && [ -f "$other/info.txt" ] && compgen -G "$other/*.recording" > /dev/null || continue
        rm -rf "$work/renamed" && mkdir "$work/renamed"
        renamed_files "$other" "$(name_in "$out")" "$work/renamed"
        (cd "$work/renamed" && sha256sum -- *) | cmp -s - "$work/digests" && same=$(basename "$other")
    done
fi
if [ -n "$same" ]; then
    cp "$work/digests" "$work/card/same_as_$same.sha256"
    echo "$card: $files recordings and traces are those of $same: kept as digests"
else
    for file in "$work"/own/*; do
        [ -e "$file" ] && mv "$file" "$work/card"
    done
    echo "$card: $(find "$work/card" -name '*.recording' -o -name '*.trace' -o -name 'd_gfx*' | wc -l) recordings and traces kept"
fi

# move_into FOLDER TO: each file by one rename.
move_into() {
    local file
    (cd "$1" && find . -type f) | while IFS= read -r file; do
        mkdir -p "$2/$(dirname "$file")"
        mv -f "$1/$file" "$2/$file"
    done
}
# Digests that stand for this card's files, of which some change: their cards get the files.
for digests in "$recordings"/*/same_as_"$card".sha256; do
    [ -e "$digests" ] || continue
    changed=no
    for file in "$work"/card/*.{recording,trace}; do
        [ ! -e "$file" ] || cmp -s "$file" "$kept/$(basename "$file")" || changed=yes
    done
    [ "$changed" = yes ] || continue
    other=$(dirname "$digests")
    rm -rf "$work/renamed" && mkdir "$work/renamed"
    renamed_files "$kept" "$(name_in "$other")" "$work/renamed"
    (cd "$work/renamed" && sha256sum --quiet -c "$digests")
    move_into "$work/renamed" "$other"
    rm "$digests"
    echo "$(basename "$other"): its digests were of files of $card that change; it has the files now"
done
move_into "$work/card" "$kept"
for digests in "$kept"/same_as_*.sha256; do
    [ "$digests" = "$kept/same_as_$same.sha256" ] || rm -f "$digests"
done
