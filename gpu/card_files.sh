# Sourced by gpu/keep_card.sh and tests/gpu/same_recordings.sh.

# renamed_files FOLDER NAME TO: the recordings and traces of a card's folder, as another card of that name writes them
# where all its answers are the same.
renamed_files() {
    local own file
    own=$(sed -n 's/^# gpu //p' "$1/info.txt")
    for file in "$1"/*.recording "$1"/*.trace; do
        [ -e "$file" ] || continue
        sed "1,4s/^\(gpu\|device\) $own\$/\1 $2/; 1,4s/^# device $own,/# device $2,/" "$file" > "$3/$(basename "$file")"
    done
}
