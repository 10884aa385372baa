#!/usr/bin/env bash
# Whether the includes are those that the table of docs/architecture.md allows. Usage: architecture.sh SOURCE_FOLDER
#
# A row of the table: | `room` | what it holds | `room`, `room` or "all of the above" |. A file belongs to the longest room
# that begins its path.
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the includes below FOLDER that the table in DOCUMENT does not allow, as "file includes header".
forbidden() {
    local document=$1 folder=$2
    (cd "$folder" && grep -rnoE '^#include "[^"]+"' --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' \
        --include='*.ipp' softfloat engine gpu experiments 2>/dev/null || true) |
    awk -v document="$document" '
        function room_of(path,    parts, n, i, prefix, found) {
            n = split(path, parts, "/")
            for (i = 1; i < n; ++i) {
                prefix = prefix (i > 1 ? "/" : "") parts[i]
                if (prefix in rooms) found = prefix
            }
            return found
        }
        BEGIN {
            while ((getline line <document) > 0) {
                if (line !~ /^\| `/) continue
                split(line, cells, "|")
                room = cells[2]
                gsub(/[ `]/, "", room)
                if (cells[4] ~ /all of the above/) for (other in rooms) allowed[room, other] = 1
                rooms[room] = 1
                count = split(cells[4], names, ",")
                for (i = 1; i <= count; ++i) { gsub(/[ `]/, "", names[i]); allowed[room, names[i]] = 1 }
            }
        }
        {
            file = $0; sub(/:.*/, "", file)
            header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
            from = room_of(file); to = room_of(header)
            if (from == "") print file " is in no room of the table"
            else if (to != "" && to != from && !((from, to) in allowed)) print file " includes " header
        }' | sort -u
}

status=0
wrong=$(forbidden docs/architecture.md .)
[ -z "$wrong" ] || { echo "docs/architecture.md does not allow:"; echo "$wrong"; status=1; } >&2

# The rooms are those of the table, and a reader sees each at a glance. experiments/ itself holds experiments alone.
for room in $(find softfloat engine gpu experiments -name '*.[ch]pp' -printf '%h\n' | LC_ALL=C sort -u); do
    grep -qF "| \`$room\` |" docs/architecture.md || { echo "docs/architecture.md has no row for $room" >&2; status=1; }
    files=$(find "$room" -maxdepth 1 -type f | wc -l)
    [ "$room" = experiments ] || [ "$files" -le 25 ] || { echo "$room holds $files files; at most 25" >&2; status=1; }
done
for file in experiments/*.[ch]pp; do
    name=$(basename "$file")
    case $name in main.cpp | train_digits.cpp) continue ;; esac
    grep -q "^namespace ulp::${name%.cpp}_experiment {" "$file" ||
        { echo "$file is not an experiment: move it to a room of experiments/" >&2; status=1; }
done

# The rooms of engine/ stand in the order of their includes: the table allows them no room below. Those of
# experiments/ do by "all of the above".
upwards() {
    awk -F '|' '/^\| `/ { room = $2; gsub(/[ `]/, "", room); n = split($4, names, ",")
        for (i = 1; i <= n; ++i) { gsub(/[ `]/, "", names[i])
            if (room ~ /^engine\// && names[i] ~ /^engine\// && !(names[i] in seen)) print room " before " names[i] }
        seen[room] = 1 }' "$1"
}
[ -z "$(upwards docs/architecture.md)" ] || { echo "docs/architecture.md lists $(upwards docs/architecture.md)" >&2; status=1; }
printf '| `engine/a` | | `engine/b` |\n| `engine/b` | | |\n' >"$work/table.md"
[ "$(upwards "$work/table.md")" = "engine/a before engine/b" ] ||
    { echo "architecture.sh does not find a room out of order" >&2; status=1; }

# The control: an include against the arrows is found, an allowed one and a system header are not.
mkdir -p "$work/softfloat/support" "$work/engine"
printf '#include <vector>\n#include "softfloat/support/bits.hpp"\n' >"$work/softfloat/a.hpp"
printf '#include "engine/tape/tape.hpp"\n' >"$work/softfloat/support/b.hpp"
printf '#include "softfloat/a.hpp"\n#include "gpu/instructions/shape.hpp"\n' >"$work/engine/c.cpp"
[ "$(forbidden "$PWD/docs/architecture.md" "$work" | wc -l)" -eq 2 ] ||
    { echo "architecture.sh does not find what is not allowed" >&2; status=1; }
exit $status
