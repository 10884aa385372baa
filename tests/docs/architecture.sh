#!/usr/bin/env bash
# Whether the includes are those that docs/architecture.md tells: none leads to a room further down in its list of rooms, no
# room is missing there, and its table of arrows is that of the sources. Usage: architecture.sh SOURCE_FOLDER
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
fail() { echo "$1" >&2; status=1; }

wrong=$(docs/rooms.sh --upwards)
[ -z "$wrong" ] || fail "docs/architecture.md does not allow:
$wrong"
docs/rooms.sh >"$work/table"
sed -n '/^<!-- table of arrows/,/^<!-- end of arrows/p' docs/architecture.md | sed '1d;$d' | diff - "$work/table" >&2 ||
    fail "The table of arrows in docs/architecture.md is not that of the sources; make it anew: docs/update.sh"

# experiments/ itself holds experiments alone, and what they are called from.
for file in experiments/*.[ch]pp; do
    name=$(basename "$file" .cpp)
    case $name in main | train_digits) continue ;; esac
    grep -q "^namespace ulp::${name}_experiment {" "$file" || fail "$file is not an experiment: move it to a room of experiments/"
done

# The control: an include against the arrows is found, an allowed one and a system header are not.
mkdir -p "$work/softfloat/support" "$work/engine"
printf '#include <vector>\n#include "softfloat/support/bits.hpp"\n' >"$work/softfloat/a.hpp"
printf '#include "engine/tape/tape.hpp"\n' >"$work/softfloat/support/b.hpp"
printf '#include "softfloat/a.hpp"\n#include "gpu/instructions/element.hpp"\n' >"$work/engine/c.cpp"
[ "$(docs/rooms.sh --upwards "$work" | wc -l)" -eq 2 ] || fail "architecture.sh does not find what is not allowed"
exit $status
