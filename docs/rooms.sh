#!/usr/bin/env bash
# Prints which rooms the includes of each room lead to, as a Markdown table, in the order of the list in
# docs/architecture.md ("- `room`: what it holds"). A file belongs to the longest room that begins its path.
# Usage: docs/rooms.sh [FOLDER]; with --upwards prints "file includes header" for each include of a room further down in the
# list, and for each file that is in no room.
set -euo pipefail
mode=table
[ "${1:-}" = --upwards ] && { mode=upwards; shift; }
here=$(cd "$(dirname "$0")" && pwd)
document=$here/architecture.md
cd "${1:-$here/..}"
{ sed -n 's/^- `\([a-z_/]*\)`: .*/room \1/p' "$document"
  grep -rnoE '^#include "[^"]+"' --include='*.[ch]pp' --include='*.cu' --include='*.cuh' --include='*.in' softfloat engine gpu experiments \
      2>/dev/null || true; } |
awk -v mode=$mode '
    function room_of(path,    parts, n, i, prefix, found) {
        n = split(path, parts, "/")
        for (i = 1; i < n; ++i) {
            prefix = prefix (i > 1 ? "/" : "") parts[i]
            if (prefix in place) found = prefix
        }
        return found
    }
    $1 == "room" { place[$2] = ++rooms; name[rooms] = $2; next }
    {
        file = $0; sub(/:.*/, "", file)
        header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
        if (header !~ /^(softfloat|engine|gpu|experiments)\//) next
        from = room_of(file); to = room_of(header)
        if (mode == "upwards") {
            if (from == "") print file " is in no room"
            else if (place[to] > place[from]) print file " includes " header
        }
        if (from != to) arrow[place[from], place[to]] = 1
    }
    END {
        if (mode == "upwards") exit
        print "| room | includes |\n|---|---|"
        for (i = 1; i <= rooms; ++i) {
            list = ""
            for (j = 1; j <= rooms; ++j) if ((i, j) in arrow) list = list (list == "" ? "" : ", ") "`" name[j] "`"
            print "| `" name[i] "` | " (list == "" ? "nothing" : list) " |"
        }
    }' | { [ $mode = upwards ] && LC_ALL=C sort -u || cat; }
